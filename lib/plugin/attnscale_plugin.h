/* The plugin interface of attnscale: a shared library that exports attnscale_plugin_v1 adds methods to the catalogue.
 * `attnscale run --plugin ./libx.so --methods x ...` then verifies them against the fp64 oracle and measures them in the
 * same rounds as its own. This header is C99 and C++, needs nothing else of attnscale, and is all that a plugin sees.
 * peers/example/naive.c is a whole plugin.
 *
 * Rules
 *  - Structures begin with their size, set by whoever made them to sizeof. Within one ABI version members are only ever
 *    added at the end of attnscale_method and attnscale_plugin; what an older plugin lacks counts as zero.
 *  - Structures and texts that the plugin returns belong to it. The table must stay as it is for the rest of the process;
 *    the text of an error until the plugin is called again. Of a text the first 300 characters count, printable ASCII.
 *  - A function reports failure by a text (NULL: all is well). It must not throw, exit or longjmp: an exception is caught
 *    and becomes a failure, but a crash inside a plugin is a crash of the whole program.
 *  - Functions are called from one thread, `visible` from several at once. The plugin runs its own threads, at most as many
 *    as plan() was told, and lets idle ones sleep: a thread that spins disturbs whoever is timed next.
 *  - Nothing may be written to stdout, which carries the program's data.
 */
#ifndef ATTNSCALE_PLUGIN_H
#define ATTNSCALE_PLUGIN_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define ATTNSCALE_PLUGIN_ABI 1u
#if defined(__GNUC__)
#define ATTNSCALE_PLUGIN_EXPORT __attribute__((visibility("default")))
#else
#define ATTNSCALE_PLUGIN_EXPORT
#endif

/* One attention problem. Query i stands at position i + keys - queries; with causal != 0 it sees the keys up to that
 * position only, else all. Query head h reads key/value head h / (heads / kv_heads). */
typedef struct attnscale_problem {
  uint32_t size; /* bytes of this structure */
  uint32_t causal;
  int64_t batch, heads, kv_heads, queries, keys;
  int64_t dim;        /* of a query and a key */
  int64_t value_dim;  /* of a value */
  int64_t first_head; /* index of the first query head in the problem that this one was cut from */
  uint64_t seed;      /* of everything random */
  double scale;       /* what a score q.k is multiplied by before the softmax */
} attnscale_problem;

/* fp32 rows of one tensor. Row r of head h of batch item b starts at data + b * batch_stride + h * head_stride +
 * r * row_stride (strides in elements); the elements of a row are neighbours. */
typedef struct attnscale_input {
  const float* data;
  int64_t batch_stride, head_stride, row_stride;
} attnscale_input;

typedef struct attnscale_output {
  float* data;
  int64_t batch_stride, head_stride, row_stride;
} attnscale_output;

/* What one call reads and writes. Every row of out must be written, also of a query that sees no key: zeros, and
 * an lse of -infinity. */
typedef struct attnscale_call {
  uint32_t size; /* bytes of this structure */
  uint32_t reserved;
  attnscale_input q;    /* (batch, heads, queries, dim) */
  attnscale_input k;    /* (batch, kv_heads, keys, dim) */
  attnscale_input v;    /* (batch, kv_heads, keys, value_dim) */
  attnscale_output out; /* (batch, heads, queries, value_dim) */
  attnscale_output lse; /* (batch, heads, queries, 1), natural logarithm; data is NULL when the method gives none */
} attnscale_call;

/* A parameter is a whole number; users write name:parameter=value. */
typedef struct attnscale_param {
  const char* name; /* letters, digits, '.', '_' and '-' */
  const char* doc;
  int64_t fallback, lowest, highest; /* lowest <= fallback <= highest */
} attnscale_param;

enum {
  ATTNSCALE_EXACT = 0, /* softmax over all keys that the mask allows */
  ATTNSCALE_PRUNED = 1 /* softmax over a subset that does not depend on the data: visible and visible_pairs are needed */
};

enum { ATTNSCALE_NO_LSE = 1 }; /* a flag: the method gives no log-sum-exp, so that its output alone is verified */

/* `params` holds one value per declared parameter, in the order of declaration. */
typedef struct attnscale_method {
  uint32_t size;          /* bytes of this structure */
  uint32_t contract;      /* ATTNSCALE_EXACT or ATTNSCALE_PRUNED */
  uint32_t flags;         /* 0 or ATTNSCALE_NO_LSE */
  uint32_t param_count;   /* at most 32 */
  const char* name;       /* letters, digits, '.', '_' and '-'; no two methods share one */
  const char* summary;    /* one line */
  const char* paper;      /* where it comes from; may be NULL: the plugin stands there */
  const char* complexity; /* as in "O(n^2)"; may be NULL */
  const attnscale_param* params;

  /* Why this problem cannot be done (the row is `unsupported`), or NULL. May be NULL itself: everything can. */
  const char* (*unsupported)(const attnscale_problem* problem, const int64_t* params);

  /* Prepares for calls with problems of this kind: compiles, allocates scratch. Its time is no part of a call and
   * reported apart. Returns what run() is to be given; or NULL, and then says why in *error. It is called several times
   * for one row, and so is release(). */
  void* (*plan)(const attnscale_problem* problem, const int64_t* params, int32_t threads, const char** error);
  /* Bytes that the plan holds beside inputs and outputs. May be NULL: unknown, counted as 0. */
  int64_t (*workspace_bytes)(const void* plan);
  /* The timed call. Must give the same bits each time. Returns why it failed, or NULL. */
  const char* (*run)(void* plan, const attnscale_call* call);
  void (*release)(void* plan);

  /* Pairs of query and key over batch and heads: what enters the softmax, and the products q.k that the method computes.
   * Exact methods may leave out both; scored_pairs may be NULL: what is seen is scored. */
  int64_t (*visible_pairs)(const attnscale_problem* problem, const int64_t* params);
  int64_t (*scored_pairs)(const attnscale_problem* problem, const int64_t* params);
  /* The definition of a pruned method: sets seen[j] = 1 for every key j that this query sees, of `keys` bytes that are 0.
   * Keys that the mask hides are left out by the caller. NULL for exact methods. */
  void (*visible)(const attnscale_problem* problem, const int64_t* params, int64_t batch, int64_t head, int64_t query,
                  uint8_t* seen);
} attnscale_method;

typedef struct attnscale_plugin {
  uint32_t abi;          /* ATTNSCALE_PLUGIN_ABI */
  uint32_t size;         /* bytes of this structure */
  const char* library;   /* what runs inside, with its version, as in "OpenVINO 2025.3": run.json names it; may be NULL */
  uint32_t method_count; /* 1 to 256 */
  uint32_t reserved;
  const attnscale_method* const* methods;
} attnscale_plugin;

/* The one symbol that a plugin defines and exports. */
ATTNSCALE_PLUGIN_EXPORT const attnscale_plugin* attnscale_plugin_v1(void);

#ifdef __cplusplus
}
#endif

#endif
