/* A whole plugin: exact attention, written plainly. Build it with CMake, or by hand from the root of the repository:
 *   cc -O2 -shared -fPIC -Ilib/plugin peers/example/naive.c -o libnaive.so -lm */
#include <math.h>
#include <stdlib.h>

#include "attnscale_plugin.h"

#define ROW(t, b, h, i) ((t).data + (b) * (t).batch_stride + (h) * (t).head_stride + (i) * (t).row_stride)

typedef struct {
  attnscale_problem problem;
  double weights[]; /* one per key */
} naive_plan;

static void* prepare(const attnscale_problem* problem, const int64_t* params, int32_t threads, const char** error) {
  (void)params, (void)threads; /* no parameters, and one thread whatever is allowed */
  naive_plan* made = malloc(sizeof(naive_plan) + (size_t)problem->keys * sizeof(double));
  if (made == NULL) *error = "memory ran out";
  if (made != NULL) made->problem = *problem;
  return made;
}

static int64_t workspace_bytes(const void* plan) { return ((const naive_plan*)plan)->problem.keys * 8; }

static void attend(naive_plan* plan, const attnscale_call* call, int64_t b, int64_t h, int64_t i) {
  const attnscale_problem* p = &plan->problem;
  const int64_t kv = h / (p->heads / p->kv_heads), position = i + p->keys - p->queries;
  const int64_t seen = !p->causal ? p->keys : position < 0 ? 0 : position + 1;
  double largest = -INFINITY, total = 0;
  for (int64_t j = 0; j < seen; ++j) {
    double score = 0;
    for (int64_t c = 0; c < p->dim; ++c) score += (double)ROW(call->q, b, h, i)[c] * ROW(call->k, b, kv, j)[c];
    plan->weights[j] = p->scale * score;
    largest = fmax(largest, plan->weights[j]);
  }
  for (int64_t j = 0; j < seen; ++j) total += plan->weights[j] = exp(plan->weights[j] - largest);
  for (int64_t c = 0; c < p->value_dim; ++c) {
    double sum = 0;
    for (int64_t j = 0; j < seen; ++j) sum += plan->weights[j] * ROW(call->v, b, kv, j)[c];
    ROW(call->out, b, h, i)[c] = seen > 0 ? (float)(sum / total) : 0;
  }
  *ROW(call->lse, b, h, i) = (float)(largest + log(total)); /* -infinity when no key is seen */
}

static const char* run(void* plan, const attnscale_call* call) {
  const attnscale_problem* p = &((naive_plan*)plan)->problem;
  for (int64_t row = 0; row < p->batch * p->heads * p->queries; ++row)
    attend(plan, call, row / p->queries / p->heads, row / p->queries % p->heads, row % p->queries);
  return NULL;
}

static const attnscale_method naive = {
    .size = sizeof(attnscale_method), .contract = ATTNSCALE_EXACT, .name = "naive", .complexity = "O(n^2)",
    .summary = "exact attention in plain C and double precision", .plan = prepare,
    .workspace_bytes = workspace_bytes, .run = run, .release = free};
static const attnscale_method* const methods[] = {&naive};
static const attnscale_plugin table = {ATTNSCALE_PLUGIN_ABI, sizeof(attnscale_plugin), "naive example", 1, 0, methods};

ATTNSCALE_PLUGIN_EXPORT const attnscale_plugin* attnscale_plugin_v1(void) { return &table; }
