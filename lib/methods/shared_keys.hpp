// Keys made from queries: k := q / norm(q), and 0 stays 0 (Reformer, Kitaev et al. 2020, arXiv:2001.04451). The keys
// that the problem gives are not read. Every query head makes keys of its own from its own queries, also where several
// query heads share the values of one key/value head.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/problem.hpp"
#include "methods/plan.hpp"

namespace attnscale::methods {

/// 1 / norm(q) in fp64, 0 for the zero vector. NaN for NaN or infinite components.
double inverse_norm(const float* query, std::int64_t dim);

/// key = query * inverse, each component rounded once.
void scale_to_key(const float* query, std::int64_t dim, double inverse, float* key);

/// FLOPs of making all keys once: 2 dim for the norm, dim for the scaling.
std::int64_t shared_keys_flops(const Shape& shape);

/// Queries and values read once, output and log-sum-exp written once.
std::int64_t shared_keys_bytes(const Shape& shape);

/// A query and a key must be the same token: unsupported when their numbers differ.
std::optional<std::string> needs_equal_lengths(const Problem& problem);

}  // namespace attnscale::methods
