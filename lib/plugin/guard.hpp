// What stands around every call into a plugin.
#pragma once

#include <cfenv>
#include <exception>
#include <stdexcept>
#include <string>

#include "core/error.hpp"
#include "methods/external.hpp"

namespace attnscale {

/// A plugin failed; the row of its method does.
class PluginError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Rounding mode and the treatment of denormals belong to the thread. Libraries change them, some (built with
/// -ffast-math) already when they are loaded; our methods must not compute otherwise because of it.
class KeptFloatEnvironment {
 public:
  KeptFloatEnvironment() { std::fegetenv(&environment_); }
  ~KeptFloatEnvironment() { std::fesetenv(&environment_); }
  KeptFloatEnvironment(const KeptFloatEnvironment&) = delete;
  KeptFloatEnvironment& operator=(const KeptFloatEnvironment&) = delete;

 private:
  std::fenv_t environment_{};
};

/// call(), with the modes of the floating-point unit put back, and a stranger's exception turned into a PluginError.
template <class Call>
auto guarded(const Call& call) {
  const KeptFloatEnvironment kept;
  try {
    return call();
  } catch (const Error&) {
    throw;
  } catch (const PluginError&) {
    throw;
  } catch (const std::exception& error) {
    throw PluginError("it threw an exception: " + plain_text(error.what()));
  } catch (...) {
    throw PluginError("it threw an exception of unknown type");
  }
}

}  // namespace attnscale
