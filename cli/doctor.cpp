// `attnscale doctor`: what this machine can do, how noisy it is, and what to fix.
#include "doctor/doctor.hpp"

#include <memory>

#include <fmt/format.h>

#include "commands.hpp"
#include "kernels/strip.hpp"

namespace attnscale::cli {
namespace {

struct DoctorArguments {
  bool json = false;
  std::string simd;
};

int doctor(const DoctorArguments& arguments) {
  if (!arguments.simd.empty()) kernels::use_target(arguments.simd);
  const Diagnosis diagnosis = diagnose();
  fmt::print("{}", arguments.json ? run_json(diagnosis_info(diagnosis)) : diagnosis_text(diagnosis));
  return 0;
}

}  // namespace

Command add_doctor(CLI::App& app) {
  CLI::App* command = app.add_subcommand("doctor", "This machine: peak, bandwidth, noise floor, what to fix");
  const auto arguments = std::make_shared<DoctorArguments>();
  command->add_flag("--json", arguments->json, "as JSON");
  command->add_option("--simd", arguments->simd, "SIMD target instead of the best")->envname("ATTNSCALE_SIMD");
  return {command, [arguments] { return doctor(*arguments); }};
}

}  // namespace attnscale::cli
