// A plugin that throws, which the interface forbids: when it is loaded if the variable THROWER is set, else in its
// calls.
#include <cstdlib>
#include <stdexcept>
#include <string>

#include "attnscale_plugin.h"

namespace {

void* prepare(const attnscale_problem*, const int64_t*, int32_t, const char**) {
  static int plan = 0;
  return &plan;
}
void* throw_in_plan(const attnscale_problem*, const int64_t*, int32_t, const char**) {
  throw std::runtime_error("in plan\n" + std::string(2000, 'x'));
}
const char* throw_number(void*, const attnscale_call*) {
  throw 42;
}
void release(void*) {}
void throw_in_release(void*) {
  throw std::runtime_error("in release");
}
const char* idle(void*, const attnscale_call*) {
  return "no";
}
const char* throw_when_asked(const attnscale_problem*, const int64_t*) {
  throw std::logic_error("when asked");
}

attnscale_method method(const char* name) {
  attnscale_method method{};
  method.size = sizeof(method);
  method.name = name;
  method.plan = prepare;
  method.run = idle;
  method.release = release;
  return method;
}

}  // namespace

const attnscale_plugin* attnscale_plugin_v1() {
  if (std::getenv("THROWER") != nullptr) throw std::runtime_error("at once");
  static attnscale_method all[] = {method("t.plan"), method("t.run"), method("t.release"), method("t.asked")};
  all[0].plan = throw_in_plan;
  all[1].run = throw_number;
  all[2].release = throw_in_release;
  all[3].unsupported = throw_when_asked;
  static const attnscale_method* const methods[] = {&all[0], &all[1], &all[2], &all[3]};
  static const attnscale_plugin table = {ATTNSCALE_PLUGIN_ABI, sizeof(attnscale_plugin), nullptr, 4, 0, methods};
  return &table;
}
