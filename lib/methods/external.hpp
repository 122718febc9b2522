// Methods from outside: how a plugin, or a process that runs kernels for us, puts its methods into the catalogue while
// the program runs. From then on they are listed, parsed, verified and measured like ours. What differs:
//  - `origin` names the flag that brought the method in; it stands in messages, and at the end of `repro`.
//  - `plan_with_threads` is given instead of `plan`: such a method runs its own threads, in a plan of one stage
//    (call_plan). Whatever it throws makes the row `failed`, with the text of the exception as its reason.
//  - Contract exact needs no `visible`: every allowed key is seen. `gives_lse` = false leaves the log-sum-exp
//  unverified,
//    and the row says so.
//  - Plan::own_time_ns lets it report its own time per call in place of ours.
// The texts of an outsider go through plain_text before they reach a table.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

#include "core/tensor.hpp"
#include "methods/method.hpp"

namespace attnscale {

/// Puts a method into the catalogue for the rest of the program and returns it there. Every text and parameter is
/// copied, so those behind `method` may go. Call it before anything runs, from one thread. Throws InputError for a name
/// that is taken or cannot be typed in a spec, for bad parameters, and for a pruned method without `visible`.
const Method& add_method(const Method& method);

/// A plan of one stage with one task, on the calling thread: `call` computes the whole problem, and throws when it
/// cannot. The work of a run is what `cost` says, whose pairs must both be given.
Plan call_plan(const Cost& cost, std::function<void(const Qkv&, const AttentionOutput&)> call);

/// Work of a method that scores what it sees: `pairs` visible ones over batch and heads. Traffic is compulsory traffic.
Cost external_cost(const Problem& problem, std::int64_t pairs);

/// Pairs of exact attention over batch and heads: what contract exact passes to external_cost.
std::int64_t all_pairs(const Problem& problem);

/// A stranger's text made fit for tables and messages: at most `longest` characters, of printable ASCII; of anything
/// behind that nothing is read. Null gives "".
std::string plain_text(const char* text, std::size_t longest = 300);

}  // namespace attnscale
