// Calls a function on every field of a row in column order: what writers, readers and tests are made of. The values
// come by reference, so that a reader can fill the row.
#pragma once

#include <type_traits>

#include "record/record.hpp"

namespace attnscale {

/// `Row` is Record, SampleRow, StageRow or FitRow, const or not; `visit` takes every type of namespace field.
template <class Row, class Visit>
void visit_fields(Row& row, Visit&& visit) {
  using Plain = std::remove_const_t<Row>;
  if constexpr (std::is_same_v<Plain, Record>) {
#define FIELD(type, name, unit, doc) visit(row.name);
#include "record/fields.def"
  } else if constexpr (std::is_same_v<Plain, SampleRow>) {
#define SAMPLE_FIELD(type, name, unit, doc) visit(row.name);
#include "record/fields.def"
  } else if constexpr (std::is_same_v<Plain, StageRow>) {
#define STAGE_FIELD(type, name, unit, doc) visit(row.name);
#include "record/fields.def"
  } else {
    static_assert(std::is_same_v<Plain, FitRow>);
#define FIT_FIELD(type, member, name, unit, doc) visit(row.member);
#include "record/fields.def"
  }
}

}  // namespace attnscale
