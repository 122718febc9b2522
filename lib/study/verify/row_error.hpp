// All error figures of one query row: against the method's own definition (implementation error) and against exact
// attention (approximation error). The two are never mixed.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "methods/method.hpp"
#include "methods/reference.hpp"
#include "study/verify/oracle.hpp"

namespace attnscale {

/// One row of a method's output beside what it should be.
struct RowCase {
  std::span<const float> out;
  std::optional<float> lse;           ///< empty: the method gives none
  const ReferenceRow* own = nullptr;  ///< the method's definition in fp64
  const ExactRow* exact = nullptr;    ///< exact attention
  const ExactRow* reference =
      nullptr;  ///< what mass and bound refer to: exact.shared for shared-QK methods, else exact
  std::span<const std::int32_t> groups;  ///< the key groups that the row sees
};

struct RowError {
  bool averaged = true;
  bool empty = false;  ///< exact attention sees no key, or is not a number: no approximation error
  std::int64_t pseudo_keys = 0;
  // implementation
  double impl_error = 0;  ///< 2-norm of the output's difference
  double lse_error = 0;
  double impl_ratio = 0;  ///< the larger of both over its tolerance; 0/0 = 0, x/0 = infinity
  bool overflow = false;  ///< the definition's scores are beyond fp32
  // approximation, against exact
  double error2 = 0;  ///< squared 2-norm of the difference
  double exact2 = 0;  ///< squared 2-norm of the exact row
  double max_abs = 0;
  double max_abs_v = 0;  ///< max_abs / (2 max norm v)
  double cosine = 0;     ///< NaN when both rows are zero
  // against error_reference
  double reference_error2 = 0;
  double reference2 = 0;
  double mass = 0;
  double top64 = 0;
  double bound = 0;
  bool bound_held = true;
};

/// Figures that do not apply to the contract are computed and left to the caller to drop.
RowError row_error(const RowCase& row);

}  // namespace attnscale
