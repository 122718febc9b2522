/* A plugin that misbehaves. The variable HOSTILE names what is wrong with its table; without it the table is right, and what
 * misbehaves are its methods, each in the way that its name says. */
#define _GNU_SOURCE
#include <fenv.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "attnscale_plugin.h"

#define ROW(t, b, h, i) ((t).data + (b) * (t).batch_stride + (h) * (t).head_stride + (i) * (t).row_stride)

typedef struct {
  attnscale_problem problem;
  int64_t window;
  int calls;
} hostile_plan;

/* 2 GB of 'x' without an end, in little memory: one page after the other is the same file. */
static const char* huge_text(void) {
  static const char* text = NULL;
  const size_t part = (size_t)1 << 22, whole = (size_t)1 << 31;
  if (text != NULL) return text;
  const int file = memfd_create("text", 0);
  char* all = mmap(NULL, whole, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (file < 0 || ftruncate(file, (off_t)part) != 0 || all == MAP_FAILED) return "no huge text";
  for (size_t at = 0; at < whole; at += part)
    if (mmap(all + at, part, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file, 0) == MAP_FAILED) return "no huge text";
  memset(all, 'x', part);
  return text = all;
}

static int64_t first_key(const hostile_plan* plan, int64_t i) {
  return plan->window < 0 || i < plan->window ? 0 : i - plan->window;
}

/* Exact attention, or over a window of keys before and at the query. */
static const char* right(void* made, const attnscale_call* call) {
  hostile_plan* plan = made;
  const attnscale_problem* p = &plan->problem;
  ++plan->calls;
  for (int64_t row = 0; row < p->batch * p->heads * p->queries; ++row) {
    const int64_t b = row / p->queries / p->heads, h = row / p->queries % p->heads, i = row % p->queries;
    const int64_t kv = h / (p->heads / p->kv_heads);
    const int64_t end = p->causal || plan->window >= 0 ? i + 1 + p->keys - p->queries : p->keys;
    float* out = ROW(call->out, b, h, i);
    double total = 0;
    for (int64_t c = 0; c < p->value_dim; ++c) out[c] = 0;
    for (int64_t j = first_key(plan, i); j < end; ++j) {
      double score = 0;
      for (int64_t c = 0; c < p->dim; ++c) score += (double)ROW(call->q, b, h, i)[c] * ROW(call->k, b, kv, j)[c];
      const double weight = exp(p->scale * score);
      total += weight;
      for (int64_t c = 0; c < p->value_dim; ++c) out[c] += (float)(weight * ROW(call->v, b, kv, j)[c]);
    }
    for (int64_t c = 0; c < p->value_dim; ++c) out[c] = (float)(out[c] / total);
    if (call->lse.data != NULL) *ROW(call->lse, b, h, i) = (float)log(total);
  }
  return NULL;
}

static const char* error(void* plan, const attnscale_call* call) { return (void)plan, (void)call, "the kernel says no"; }
static const char* silent(void* plan, const attnscale_call* call) { return (void)plan, (void)call, ""; }
static const char* garbage(void* plan, const attnscale_call* call) { return (void)plan, (void)call, "a,\"b\"\n\xff\x01"; }
static const char* huge(void* plan, const attnscale_call* call) { return (void)plan, (void)call, huge_text(); }
static const char* idle(void* plan, const attnscale_call* call) { return (void)plan, (void)call, NULL; }

static const char* not_a_number(void* plan, const attnscale_call* call) {
  right(plan, call);
  return call->out.data[0] = NAN, NULL;
}

static const char* wrong(void* plan, const attnscale_call* call) {
  right(plan, call);
  return call->out.data[1] += 0.01F, NULL;
}

static const char* wrong_lse(void* plan, const attnscale_call* call) {
  right(plan, call);
  return call->lse.data[0] += 0.01F, NULL;
}

static const char* later(void* plan, const attnscale_call* call) {
  if (((hostile_plan*)plan)->calls == 2) return "the third call fails";
  return right(plan, call);
}

static const char* changing(void* plan, const attnscale_call* call) {
  right(plan, call);
  if (((hostile_plan*)plan)->calls > 1) call->out.data[0] = -call->out.data[0];
  return NULL;
}

static const char* rounding(void* plan, const attnscale_call* call) {
  right(plan, call);
  return fesetround(FE_UPWARD), NULL;
}

static void* prepare(const attnscale_problem* problem, const int64_t* params, int32_t threads, const char** error) {
  (void)params, (void)threads, (void)error;
  hostile_plan* plan = malloc(sizeof(hostile_plan));
  if (plan == NULL) return NULL;
  plan->problem = *problem;
  plan->window = -1;
  plan->calls = 0;
  return plan;
}

static void* prepare_window(const attnscale_problem* problem, const int64_t* params, int32_t threads, const char** error) {
  hostile_plan* plan = prepare(problem, params, threads, error);
  if (plan != NULL) plan->window = params[0];
  return plan;
}

static void* no_plan(const attnscale_problem* problem, const int64_t* params, int32_t threads, const char** error) {
  (void)problem, (void)params, (void)threads;
  *error = "no plan for this";
  return NULL;
}

static void* silent_plan(const attnscale_problem* problem, const int64_t* params, int32_t threads, const char** error) {
  return (void)problem, (void)params, (void)threads, (void)error, NULL;
}

static const char* refuses(const attnscale_problem* problem, const int64_t* params) {
  return (void)problem, (void)params, "no such problem here";
}

static int64_t negative_bytes(const void* plan) { return (void)plan, -1; }
static int64_t endless_bytes(const void* plan) { return (void)plan, INT64_MAX; }
static int64_t endless_pairs(const attnscale_problem* p, const int64_t* v) { return (void)p, (void)v, INT64_MAX; }
static int64_t one_pair(const attnscale_problem* p, const int64_t* v) { return (void)p, (void)v, 1; }

static int64_t window_pairs(const attnscale_problem* p, const int64_t* v) {
  int64_t pairs = 0;
  for (int64_t i = 0; i < p->queries; ++i) pairs += i < v[0] ? i + 1 : v[0] + 1;
  return pairs * p->batch * p->heads;
}

static void window_seen(const attnscale_problem* p, const int64_t* v, int64_t b, int64_t h, int64_t i, uint8_t* seen) {
  (void)p, (void)b, (void)h;
  for (int64_t j = i < v[0] ? 0 : i - v[0]; j <= i; ++j) seen[j] = 1;
}

/* As many keys, but others: the one before the window instead of the query's own. */
static void other_seen(const attnscale_problem* p, const int64_t* v, int64_t b, int64_t h, int64_t i, uint8_t* seen) {
  window_seen(p, v, b, h, i, seen);
  if (i <= v[0]) return;
  seen[i] = 0;
  seen[i - v[0] - 1] = 1;
}

/* Claims keys that a causal mask hides. */
static int64_t unmasked_pairs(const attnscale_problem* p, const int64_t* v) {
  (void)v;
  return p->batch * p->heads * (p->causal ? p->keys * (p->keys + 1) / 2 : p->keys * p->keys);
}
static void all_seen(const attnscale_problem* p, const int64_t* v, int64_t b, int64_t h, int64_t i, uint8_t* seen) {
  (void)v, (void)b, (void)h, (void)i;
  memset(seen, 0xff, (size_t)p->keys);
}

static const attnscale_param width = {"w", "keys before the query", 3, 0, 1000};

#define METHOD(title, how, ...)                                                                                     \
  {                                                                                                                 \
    .size = sizeof(attnscale_method), .name = title, .summary = "hostile", .plan = prepare, .run = how, .release = free, \
    __VA_ARGS__                                                                                                     \
  }
#define WINDOW(title, keys)                                                                                          \
  {                                                                                                                  \
    .size = sizeof(attnscale_method), .contract = ATTNSCALE_PRUNED, .name = title, .complexity = "O(n w)",           \
    .param_count = 1, .params = &width, .plan = prepare_window, .run = right, .release = free, .visible = keys,      \
    .visible_pairs = window_pairs                                                                                    \
  }

static const attnscale_method all[] = {
    METHOD("h.right", right, .paper = "none"),
    METHOD("h.bare", right, .flags = ATTNSCALE_NO_LSE),
    METHOD("h.error", error, .paper = NULL),
    METHOD("h.silent", silent, .paper = NULL),
    METHOD("h.garbage", garbage, .paper = NULL),
    METHOD("h.huge", huge, .paper = NULL),
    METHOD("h.idle", idle, .paper = NULL),
    METHOD("h.nan", not_a_number, .paper = NULL),
    METHOD("h.wrong", wrong, .paper = NULL),
    METHOD("h.wrong-lse", wrong_lse, .paper = NULL),
    METHOD("h.later", later, .paper = NULL),
    METHOD("h.changing", changing, .paper = NULL),
    METHOD("h.rounding", rounding, .paper = NULL),
    METHOD("h.refuses", right, .unsupported = refuses),
    METHOD("h.negative", right, .workspace_bytes = negative_bytes),
    METHOD("h.endless", right, .workspace_bytes = endless_bytes),
    METHOD("h.pairs", right, .visible_pairs = endless_pairs),
    METHOD("h.scored", right, .scored_pairs = endless_pairs),
    METHOD("h.one-pair", right, .visible_pairs = one_pair),
    {.size = sizeof(attnscale_method), .name = "h.no-plan", .plan = no_plan, .run = right, .release = free},
    {.size = sizeof(attnscale_method), .name = "h.silent-plan", .plan = silent_plan, .run = right, .release = free},
    METHOD("h.eager", right, .contract = ATTNSCALE_PRUNED, .visible = all_seen, .visible_pairs = unmasked_pairs),
    WINDOW("h.window", window_seen),
    WINDOW("h.other-window", other_seen),
};
enum { kAll = sizeof(all) / sizeof(all[0]) };

static int is(const char* fault) {
  const char* asked = getenv("HOSTILE");
  return asked != NULL && strcmp(asked, fault) == 0;
}

/* One method with a fault. */
static const attnscale_method* faulty(void) {
  static attnscale_method method;
  static attnscale_param params[2] = {{"w", "", 3, 0, 9}, {"w", "", 3, 0, 9}};
  method = all[0];
  if (is("small method")) method.size = 16;
  if (is("no name")) method.name = NULL;
  if (is("empty name")) method.name = "";
  if (is("huge name")) method.name = huge_text();
  if (is("odd name")) method.name = "a:b";
  if (is("taken name")) method.name = "window";
  if (is("no plan")) method.plan = NULL;
  if (is("no run")) method.run = NULL;
  if (is("no release")) method.release = NULL;
  if (is("contract")) method.contract = 7;
  if (is("flags")) method.flags = 6;
  if (is("pruned blind")) method.contract = ATTNSCALE_PRUNED;
  if (is("pruned uncounted")) method.contract = ATTNSCALE_PRUNED, method.visible = window_seen;
  if (is("params nowhere")) method.param_count = 1;
  if (is("many params")) method.param_count = 33, method.params = params;
  if (is("same params")) method.param_count = 2, method.params = params;
  if (is("bad default")) method.param_count = 1, method.params = params, params[0].fallback = 10;
  if (is("bad bounds")) method.param_count = 1, method.params = params, params[0].lowest = 20;
  if (is("no param name")) method.param_count = 1, method.params = params, params[0].name = NULL;
  return &method;
}

const attnscale_plugin* attnscale_plugin_v1(void) {
  static const attnscale_method* methods[300];
  static attnscale_plugin table = {ATTNSCALE_PLUGIN_ABI, sizeof(attnscale_plugin), "hostile 1", kAll, 0, methods};
  if (is("no table")) return NULL;
  for (int i = 0; i < kAll; ++i) methods[i] = &all[i];
  if (getenv("HOSTILE") != NULL) methods[0] = faulty(), table.method_count = 1;
  if (is("version")) table.abi = 2;
  if (is("small table")) table.size = 8;
  if (is("no list")) table.methods = NULL;
  if (is("no methods")) table.method_count = 0;
  if (is("many methods")) table.method_count = 257;
  if (is("null method")) methods[0] = NULL;
  if (is("twice")) methods[1] = methods[0], table.method_count = 2;
  if (is("huge library")) table.library = huge_text();
  return &table;
}
