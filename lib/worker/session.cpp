#include "worker/session.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>
#include <stdexcept>

#include <fmt/format.h>

#include "core/error.hpp"

namespace attnscale::worker {
namespace {

constexpr std::int64_t kAlignment = 4096;  // of a tensor: a page, so that it can be mapped alone
constexpr std::int64_t kFloat = sizeof(float);

// Saturated far above any memory, for problems that are only asked about.
std::int64_t elements(const std::vector<std::int64_t>& shape) {
  constexpr double kMost = 1e17;
  const double product = std::accumulate(shape.begin(), shape.end(), 1.0, std::multiplies<>());
  return static_cast<std::int64_t>(std::min(product, kMost));
}

// Between a view, whose rows may have gaps, and a tensor without any.
template <class View, class Head, class Copy>
void each_row(const View& view, Head, const Copy& copy) {
  std::int64_t at = 0;
  for (std::int64_t b = 0; b < view.extents.batch; ++b) {
    for (std::int64_t h = 0; h < view.extents.heads; ++h) {
      const auto matrix = view.matrix(BatchIndex{b}, Head{h});
      for (std::int64_t i = 0; i < view.extents.rows; ++i, at += view.extents.width)
        copy(matrix.row(i), at, view.extents.width);
    }
  }
}

template <class Head>
void pack(const TensorView<const float, Head>& view, float* packed) {
  each_row(view, Head{},
           [&](const float* row, std::int64_t at, std::int64_t width) { std::copy_n(row, width, packed + at); });
}

void unpack(const float* packed, const OutputView& view) {
  each_row(view, HeadIndex{},
           [&](float* row, std::int64_t at, std::int64_t width) { std::copy_n(packed + at, width, row); });
}

}  // namespace

Session::Session(std::shared_ptr<Pool> pool, Task task) : pool_(std::move(pool)), task_(std::move(task)) {
  place_tensors();
}

Session::~Session() {
  if (!connection_) return;
  try {
    const Reply reply = connection_->child.ask(release_line(id_), pool_->timeout_s());
    read_released(reply.line, id_);
    pool_->give_back(std::move(connection_));
  } catch (const std::exception&) {
    connection_.reset();  // all of its results are in already; the next problem gets a new process
  }
}

void Session::expect(std::int64_t calls) {
  expected_ = std::max<std::int64_t>(1, calls);
  times_.clear();
}

void Session::call(const Qkv& in) {
  if (times_.empty()) {
    try {
      if (!connection_) open(in);
      run();
    } catch (...) {
      connection_.reset();
      throw;
    }
  }
  own_time_ns_ = std::llround(times_.front());
  times_.pop_front();
}

void Session::copy_output(const AttentionOutput& out) {
  if (!fresh_output_) return;
  unpack(floats("o"), out.out);
  if (task_.offer->lse) unpack(floats("lse"), out.lse);
  fresh_output_ = false;
}

void Session::place_tensors() {
  const Shape& s = task_.problem.shape;
  tensors_ = {{"q", 0, {s.batch, s.heads, s.queries, s.dim}},
              {"k", 0, {s.batch, s.kv_heads, s.keys, s.dim}},
              {"v", 0, {s.batch, s.kv_heads, s.keys, s.value_dim}},
              {"o", 0, {s.batch, s.heads, s.queries, s.value_dim}}};
  if (task_.offer->lse) tensors_.push_back({"lse", 0, {s.batch, s.heads, s.queries}});
  if (task_.visible) tensors_.push_back({"visible", 0, {s.heads, s.queries, (s.keys + 7) / 8}});
  memory_bytes_ = 0;
  for (Placed& tensor : tensors_) {
    tensor.offset = memory_bytes_;
    const std::int64_t bytes = elements(tensor.shape) * (tensor.name == "visible" ? 1 : kFloat);
    memory_bytes_ += (bytes + kAlignment - 1) / kAlignment * kAlignment;
  }
}

const Placed* Session::find(std::string_view name) const {
  const auto at = std::find_if(tensors_.begin(), tensors_.end(), [&](const Placed& t) { return t.name == name; });
  return at == tensors_.end() ? nullptr : &*at;
}

float* Session::floats(std::string_view tensor) const {
  return reinterpret_cast<float*>(memory_->data() + find(tensor)->offset);
}

// Bit j % 8 of byte j / 8 says whether the query sees key j. Patterns do not depend on the batch item.
void Session::fill_visible() {
  const Placed* place = find("visible");
  if (place == nullptr) return;
  const Shape& s = task_.problem.shape;
  auto* row = reinterpret_cast<unsigned char*>(memory_->data() + place->offset);
  std::vector<std::int32_t> groups(static_cast<std::size_t>(s.keys));
  for (HeadIndex h{0}; h.value < s.heads; ++h.value) {
    for (std::int64_t i = 0; i < s.queries; ++i, row += place->shape.back()) {
      std::fill(groups.begin(), groups.end(), -1);
      task_.visible({BatchIndex{0}, h, i}, groups);
      std::fill_n(row, place->shape.back(), static_cast<unsigned char>(0));
      for (std::size_t j = 0; j < groups.size(); ++j) {
        if (groups[j] >= 0) row[j / 8] = static_cast<unsigned char>(row[j / 8] | (1U << (j % 8)));
      }
    }
  }
}

// So that a worker that leaves a row out cannot pass for its earlier value.
void Session::poison_output() {
  for (const char* name : {"o", "lse"}) {
    if (const Placed* place = find(name))
      std::fill_n(floats(name), elements(place->shape), std::numeric_limits<float>::quiet_NaN());
  }
}

void Session::open(const Qkv& in) {
  memory_ = std::make_unique<SharedMemory>(memory_bytes_);
  pack(in.q, floats("q"));
  pack(in.k, floats("k"));
  pack(in.v, floats("v"));
  fill_visible();
  poison_output();
  connection_ = pool_->take(task_.threads);
  id_ = connection_->next_id++;
  ProblemMessage message;
  message.id = id_;
  message.method = task_.offer->name;
  message.params = task_.params;
  message.problem = &task_.problem;
  message.threads = task_.threads;
  message.memory = memory_->name();
  message.memory_bytes = memory_bytes_;
  message.tensors = tensors_;
  const double limit_s = pool_->timeout_s() + task_.generous_s;
  read_ready(connection_->child.ask(problem_line(message), limit_s).line, id_, find("o")->shape);
  memory_->unlink();
}

void Session::run() {
  constexpr double kSlower = 20;    // than last time: still no reason to give up
  constexpr int kPoisonedRuns = 2;  // the one that is verified, and the first of those that are timed
  const std::int64_t calls = std::min(expected_, kMostIterations);
  if (runs_ > 0 && runs_ < kPoisonedRuns) poison_output();
  const double call_s = runs_ == 0 ? task_.generous_s : kSlower * call_s_;
  const double limit_s = pool_->timeout_s() + static_cast<double>(calls) * call_s;
  const Reply reply = connection_->child.ask(run_line(id_, calls), limit_s);
  const std::vector<double> times = read_times(reply.line, id_, calls);
  check_plausible(std::accumulate(times.begin(), times.end(), 0.0), reply.round_trip_ns, calls);
  times_.assign(times.begin(), times.end());
  expected_ = std::max<std::int64_t>(1, expected_ - calls);
  call_s_ = reply.round_trip_ns * 1e-9 / static_cast<double>(calls);
  fresh_output_ = true;
  ++runs_;
}

// A part cannot take longer than the whole. And a worker does little between its calls, so that much of a long round
// trip is theirs. On a machine with a load of 10 a worker in order had a share of 0.12, so only far less than that is
// called untrue; any share stands in the row.
void Session::check_plausible(double own_ns, double round_trip_ns, std::int64_t calls) {
  constexpr double kRoundingNs = 1000;  // of a clock that counts microseconds, per call
  constexpr double kLongNs = 100e6;
  constexpr double kLeastShare = 0.02;
  if (own_ns <= 0 || own_ns > round_trip_ns + kRoundingNs * static_cast<double>(calls)) {
    throw std::runtime_error(
        fmt::format("the worker reports {:.6g} ns for {} calls that took {:.6g} ns with the way there", own_ns, calls,
                    round_trip_ns));
  }
  if (runs_ == 0) return;
  own_total_ns_ += own_ns;
  round_trip_total_ns_ += round_trip_ns;
  if (round_trip_total_ns_ < kLongNs || own_total_ns_ >= kLeastShare * round_trip_total_ns_) return;
  throw std::runtime_error(fmt::format(
      "the worker reports {:.3g} ms of {:.3g} ms that its calls took with the way there: too little to be true",
      own_total_ns_ * 1e-6, round_trip_total_ns_ * 1e-6));
}

}  // namespace attnscale::worker
