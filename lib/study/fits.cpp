#include "study/fits.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include <fmt/format.h>

#include "analysis/crossover.hpp"
#include "analysis/fit.hpp"
#include "methods/method.hpp"

namespace attnscale {
namespace {

// Everything but n and seed that may differ between rows of one method, as name=value.
std::vector<std::string> axes_of(const Record& r) {
  const auto number = [](const char* name, const field::integer& value) {
    return fmt::format("{}={}", name, value.value_or(0));
  };
  std::vector<std::string> axes = {fmt::format("input={}", r.input),
                                   fmt::format("mask={}", r.mask),
                                   fmt::format("temperature={}", r.temperature.value_or(1)),
                                   number("batch", r.batch),
                                   number("heads", r.heads),
                                   number("kv_heads", r.kv_heads),
                                   number("dim", r.dim),
                                   number("value_dim", r.value_dim),
                                   number("threads", r.threads),
                                   fmt::format("simd={}", r.simd_target),
                                   fmt::format("cache={}", r.cache)};
  // With as many queries as keys both are n; else the number of queries is an axis beside it.
  axes.push_back(r.queries == r.keys ? "queries=n" : number("queries", r.queries));
  return axes;
}

// Only the axes on which the run's rows differ, so that a run with one series names none.
class SeriesNames {
 public:
  explicit SeriesNames(std::span<const Record> records) {
    std::vector<std::set<std::string>> values;
    for (const Record& record : records) {
      const std::vector<std::string> axes = axes_of(record);
      values.resize(axes.size());
      for (std::size_t i = 0; i < axes.size(); ++i) values[i].insert(axes[i]);
    }
    for (const auto& axis : values) varies_.push_back(axis.size() > 1);
  }
  [[nodiscard]] std::string of(const Record& record) const {
    std::string name;
    const std::vector<std::string> axes = axes_of(record);
    for (std::size_t i = 0; i < axes.size(); ++i) {
      if (varies_[i]) name += (name.empty() ? "" : " ") + axes[i];
    }
    return name;
  }

 private:
  std::vector<bool> varies_;
};

struct Series {
  std::string method;
  std::string name;
  std::vector<const Record*> records;
};

// In order of appearance, which is the order of the study.
std::vector<Series> series_of(std::span<const Record> records) {
  const SeriesNames names(records);
  std::vector<Series> all;
  for (const Record& record : records) {
    if (record.status != name_of(Outcome::ok)) continue;
    const std::string name = names.of(record);
    auto at = std::find_if(all.begin(), all.end(),
                           [&](const Series& s) { return s.method == record.method && s.name == name; });
    if (at == all.end()) at = all.insert(all.end(), {record.method, name, {}});
    at->records.push_back(&record);
  }
  return all;
}

struct Quantities {
  const char* column;
  Quantity kind;
  std::optional<double> (*value)(const Record&);
};

std::optional<double> real_of(const field::integer& value) {
  return value ? std::optional<double>(static_cast<double>(*value)) : std::nullopt;
}

const std::vector<Quantities>& quantities() {
  static const std::vector<Quantities> all = {
      {"time_ns_median", Quantity::measured, [](const Record& r) { return r.time_ns_median; }},
      {"visible_pairs", Quantity::counted, [](const Record& r) { return real_of(r.visible_pairs); }},
      {"scored_pairs", Quantity::counted, [](const Record& r) { return real_of(r.scored_pairs); }},
      {"workspace_bytes_predicted", Quantity::counted,
       [](const Record& r) { return real_of(r.workspace_bytes_predicted); }},
  };
  return all;
}

FitRow fit_row(const Series& series, const Quantities& quantity, const GrowthFit& fit, const std::string& theory) {
  FitRow row;
  row.method = series.method;
  row.series = series.name;
  row.label = series.records.front()->label;
  row.quantity = quantity.column;
  row.sizes = static_cast<std::int64_t>(fit.points.size());
  if (!fit.points.empty()) {
    row.n_min = static_cast<std::int64_t>(fit.points.front().n);
    row.n_max = static_cast<std::int64_t>(fit.points.back().n);
  }
  row.verdict = verdict(fit, theory, constants_of(series.method));
  if (!fit.refused.empty()) return row;
  row.growth_class = fit.best().growth->name;
  row.classes_ambiguous = fit.ambiguous();
  if (!fit.best().coefficients.empty()) row.coefficient = fit.best().coefficients.back();
  row.intercept = fit.best().intercept;
  row.exponent = fit.exponent;
  if (fit.exponent_ci) {
    row.exponent_ci_low = fit.exponent_ci->low;
    row.exponent_ci_high = fit.exponent_ci->high;
  }
  return row;
}

// A block or stride that is left to us grows with n, and the complexity of the method presumes it; one that is fixed
// changes the class.
bool has_fixed_auto(const std::string& spec) {
  if (find_method(spec.substr(0, spec.find(':'))) == nullptr)
    return false;  // a run of a program that has other methods
  const MethodSpec parsed = parse_method(spec).front();
  return std::any_of(parsed.method->params.begin(), parsed.method->params.end(), [&](const ParamSpec& param) {
    return param.fallback == "auto" && !parsed.params.is_auto(param.name);
  });
}

// A method's complexity is that of its work: it says nothing of memory, and of the visible pairs only where no others
// are scored (top-k sees k keys of each row, but has to score all).
std::string theory_of(const Series& series, const std::string& column) {
  const bool scores_more = std::any_of(series.records.begin(), series.records.end(), [](const Record* r) {
    return r->scored_pairs && r->visible_pairs && *r->scored_pairs != *r->visible_pairs;
  });
  if (column == "workspace_bytes_predicted" || (column == "visible_pairs" && scores_more)) return "";
  if (has_fixed_auto(series.method)) return "";
  return series.records.front()->complexity;
}

std::string short_name(const FitRow& fit) {
  const std::string& name = fit.label.empty() ? fit.method : fit.label;
  return fit.series.empty() ? name : fmt::format("{} [{}]", name, fit.series);
}

std::string growth_text(const FitRow* fit) {
  if (fit == nullptr || !fit->exponent) return "-";
  const std::string& classes = fit->classes_ambiguous.empty() ? fit->growth_class : fit->classes_ambiguous;
  std::string text = fmt::format("n^{:.2f}", *fit->exponent);
  if (fit->exponent_ci_low && fit->exponent_ci_high) {
    text += fmt::format(" ({:.2f} to {:.2f})", *fit->exponent_ci_low, *fit->exponent_ci_high);
  }
  return fmt::format("{}: {}", text, classes);
}

}  // namespace

std::vector<FitRow> fit_records(std::span<const Record> records, std::span<const SampleRow> samples) {
  std::map<std::string, std::vector<double>> times;
  for (const SampleRow& sample : samples) times[sample.cell_id].push_back(sample.time_ns);
  std::vector<FitRow> fits;
  for (const Series& series : series_of(records)) {
    for (const Quantities& quantity : quantities()) {
      std::vector<SizePoint> points;
      for (const Record* record : series.records) {
        const std::optional<double> value = quantity.value(*record);
        if (!value) continue;
        const auto cell = times.find(record->cell_id);
        const bool noisy = quantity.kind == Quantity::measured && cell != times.end();
        points.push_back(
            {static_cast<double>(record->keys.value_or(0)), *value, noisy ? relative_spread(cell->second) : 0});
      }
      FitOptions options;
      options.quantity = quantity.kind;
      const GrowthFit fit = fit_growth(points, options);
      fits.push_back(fit_row(series, quantity, fit, theory_of(series, quantity.column)));
    }
  }
  return fits;
}

std::vector<Record> longest_rows(std::span<const Record> records) {
  const SeriesNames names(records);
  std::map<std::string, std::int64_t> longest;
  const auto key = [&](const Record& r) {
    return fmt::format("{} {} seed={}", r.method, names.of(r), r.seed.value_or(0));
  };
  for (const Record& record : records) {
    std::int64_t& n = longest[key(record)];
    n = std::max(n, record.keys.value_or(0));
  }
  std::vector<Record> rows;
  for (const Record& record : records) {
    const bool plain = record.status == name_of(Outcome::ok) || record.status == name_of(Outcome::unsupported);
    if (!plain || record.keys.value_or(0) == longest[key(record)]) rows.push_back(record);
  }
  return rows;
}

std::string fits_text(std::span<const FitRow> fits) {
  struct Line {
    std::string name;
    const FitRow* time = nullptr;
    const FitRow* pairs = nullptr;
  };
  std::vector<Line> lines;
  std::size_t width = 6;
  std::size_t time_width = 0;
  for (const FitRow& fit : fits) {
    const std::string name = short_name(fit);
    if (lines.empty() || lines.back().name != name) lines.push_back({name});
    if (fit.quantity == "time_ns_median") lines.back().time = &fit;
    if (fit.quantity == "visible_pairs") lines.back().pairs = &fit;
    if (fit.exponent) width = std::max(width, name.size());
    if (fit.quantity == "time_ns_median") time_width = std::max(time_width, growth_text(&fit).size());
  }
  std::string text;
  for (const Line& line : lines) {
    const bool fitted =
        (line.time != nullptr && line.time->exponent) || (line.pairs != nullptr && line.pairs->exponent);
    if (!fitted) continue;
    if (text.empty())
      text = fmt::format("{:<{}}  {:<{}}  {}\n", "method", width, "time grows like", time_width,
                         "visible pairs grow like");
    text += fmt::format("{:<{}}  {:<{}}  {}\n", line.name, width, growth_text(line.time), time_width,
                        growth_text(line.pairs));
  }
  return text;
}

std::string crossovers_text(std::span<const Record> records) {
  std::string text;
  for (const Series& series : series_of(records)) {
    std::vector<RatioPoint> points;
    for (const Record* r : series.records) {
      if (!r->ratio_to_exact || r->method == r->baseline) continue;
      points.push_back(
          {static_cast<double>(r->keys.value_or(0)), *r->ratio_to_exact, r->ratio_ci_low, r->ratio_ci_high});
    }
    if (points.empty()) continue;
    const std::string name = series.name.empty() ? series.method : fmt::format("{} [{}]", series.method, series.name);
    text += fmt::format("{}: {}\n", name, crossover_text(points));
  }
  return text;
}

}  // namespace attnscale
