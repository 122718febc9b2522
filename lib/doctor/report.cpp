#include <fmt/format.h>

#include "doctor/doctor.hpp"
#include "record/scaled.hpp"

namespace attnscale {
namespace {

std::string bytes_text(std::int64_t bytes) {
  return bytes > 0 ? scaled_bytes(static_cast<double>(bytes)) : "-";
}

std::string levels_text(const Diagnosis& d) {
  std::string text =
      fmt::format("{:<8}  {:>9}  {:>9}  {:>12}  {:>12}  {:>12}  {:>12}\n", "GB/s", "size", "buffer", "read, 1 thr.",
                  "triad, 1", fmt::format("read, {}", d.threads), fmt::format("triad, {}", d.threads));
  for (const MemoryLevel& level : d.levels) {
    text += fmt::format("{:<8}  {:>9}  {:>9}  {:>12.1f}  {:>12.1f}  {:>12.1f}  {:>12.1f}\n", level.name,
                        bytes_text(level.size_bytes), bytes_text(level.buffer_bytes), level.one.read_gbs,
                        level.one.triad_gbs, level.all.read_gbs, level.all.triad_gbs);
  }
  return text;
}

// Work per byte above which the multiply-add units are the limit, and not the memory.
double balance(const Diagnosis& d) {
  const double bandwidth = d.levels.empty() ? 0 : d.levels.back().all.read_gbs;
  return bandwidth > 0 ? d.peak_gflops_all / bandwidth : 0;
}

}  // namespace

std::string diagnosis_text(const Diagnosis& d) {
  std::string text = fmt::format("{}, {} cores, SIMD target {}\n\n", d.machine.cpu, d.machine.cores, d.simd_target);
  text += fmt::format("multiply-add peak  {:.1f} GFLOP/s on one thread, {:.1f} on {} ({:.2f}x)\n", d.peak_gflops_one,
                      d.peak_gflops_all, d.threads, d.peak_gflops_all / d.peak_gflops_one);
  text += fmt::format("exp2               {:.2f} per ns on one thread, the time of {:.0f} FLOP each\n", d.exps_per_ns,
                      d.peak_gflops_one / d.exps_per_ns);
  text += fmt::format("clock              {:.0f} ns per reading; a call has two\n", d.clock_cost_ns);
  text +=
      fmt::format("noise floor        +-{:.2f} % between equal kernels in one round (median {:+.2f} %, {} rounds)\n",
                  100 * d.noise.spread, 100 * (d.noise.ratio - 1), d.noise.rounds);
  text += fmt::format("roofline           work above {:.1f} FLOP per byte of memory is bound by arithmetic\n\n",
                      balance(d));
  text += levels_text(d) + '\n';
  if (d.findings.empty()) text += "nothing disturbs\n";
  for (const Finding& finding : d.findings) text += fmt::format("{}: {}\n", finding.what, finding.advice);
  return text + fmt::format("({:.1f} s)\n", d.elapsed_s);
}

RunInfo diagnosis_info(const Diagnosis& d) {
  RunInfo info;
  info.set("machine", "host", d.machine.host);
  info.set("machine", "cpu", d.machine.cpu);
  info.set("machine", "cores", std::int64_t{d.machine.cores});
  info.set("machine", "kernel", d.machine.kernel);
  info.set("machine", "governor", d.machine.governor);
  info.set("limits", "simd_target", d.simd_target);
  info.set("limits", "threads", std::int64_t{d.threads});
  info.set("limits", "peak_gflops_one", d.peak_gflops_one);
  info.set("limits", "peak_gflops_all", d.peak_gflops_all);
  info.set("limits", "exps_per_ns", d.exps_per_ns);
  info.set("limits", "balance_flop_per_byte", balance(d));
  for (const MemoryLevel& level : d.levels) {
    info.set(level.name, "size_bytes", level.size_bytes);
    info.set(level.name, "buffer_bytes", level.buffer_bytes);
    info.set(level.name, "read_gbs_one", level.one.read_gbs);
    info.set(level.name, "triad_gbs_one", level.one.triad_gbs);
    info.set(level.name, "read_gbs_all", level.all.read_gbs);
    info.set(level.name, "triad_gbs_all", level.all.triad_gbs);
  }
  info.set("noise", "clock_cost_ns", d.clock_cost_ns);
  info.set("noise", "ratio_median", d.noise.ratio);
  info.set("noise", "ratio_spread", d.noise.spread);
  info.set("noise", "rounds", std::int64_t{d.noise.rounds});
  info.sections.push_back({"findings", {}});  // there even when nothing disturbs
  for (const Finding& finding : d.findings) info.set("findings", finding.kind, finding.what + ": " + finding.advice);
  info.set("doctor", "elapsed_s", d.elapsed_s);
  return info;
}

}  // namespace attnscale
