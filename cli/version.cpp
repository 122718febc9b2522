#include <fmt/format.h>
#include <fmt/ranges.h>

#include "commands.hpp"
#include "kernels/strip.hpp"
#include "measure/machine.hpp"
#include "study/build_info.hpp"

namespace attnscale::cli {

std::string version_text() {
  const BuildInfo build = build_info();
  const Machine machine = describe_machine();
  std::string text = fmt::format("attnscale {}", build.version);
  if (!build.git_commit.empty())
    text += fmt::format(" ({}{})", build.git_commit, build.dirty.value_or(false) ? ", modified" : "");
  text += fmt::format("\ncompiler: {}\nSIMD targets of this machine: {}", machine.compiler,
                      fmt::join(kernels::available_targets(), ", "));
  for (const auto& [library, version] : machine.versions) text += fmt::format("\n{} {}", library, version);
  return text;
}

}  // namespace attnscale::cli
