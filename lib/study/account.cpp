#include "study/account.hpp"

namespace attnscale {

TimeAccount& TimeAccount::operator+=(const TimeAccount& other) {
  wall_s += other.wall_s;
  calls_s += other.calls_s;
  oracle_s += other.oracle_s;
  inputs_s += other.inputs_s;
  children_s += other.children_s;
  limits_s += other.limits_s;
  eviction_s += other.eviction_s;
  cells += other.cells;
  return *this;
}

}  // namespace attnscale
