/* SPDX-License-Identifier: Apache-2.0 */
/* remember and recall: facts of the scope, with a confidence. */
#include "bridge/tool/tool.h"

#define TEXT_MAX 4000 /* characters of a fact */
#define CATEGORIES 8
#define LIMIT_DEFAULT 10
#define LIMIT_MAX 100
#define QUERY_MAX 400

enum { TEXT, CONFIDENCE, CATEGORY };

static const struct rp__takes remember_takes[] = {
    [TEXT] = {"text", "The fact, in words that make sense without this conversation", RP_TAKES_TEXT, true, .min = 1,
              .max = TEXT_MAX, .also = "content"},
    [CONFIDENCE] = {"confidence", "How sure it is, from 0 to 1; 1 when left out", RP_TAKES_REAL, .min = 0, .max = 1},
    [CATEGORY] = {"categories", "What it is about, in a few words to find it by", RP_TAKES_TEXTS, .max = CATEGORIES},
    {0},
};

enum { QUERY, LIMIT };

static const struct rp__takes recall_takes[] = {
    [QUERY] = {"query", "Words to look for; without them the surest facts are listed", RP_TAKES_TEXT, .max = QUERY_MAX},
    [LIMIT] = {"limit", "At most so many; 10 when left out", RP_TAKES_INT, .min = 1, .max = LIMIT_MAX},
    {0},
};

/* ---- remember ---- */

static int remember(struct rp__tool_session *m, const struct rp__json *args, struct rp__jw *w, rp_error *err)
{
  RP_AUTOFREE char *text = rp__json_dup(args[TEXT]);
  RP_AUTOBUF struct rp__buf words = RP_BUF(CATEGORIES * 4 * (RP_TAKES_ITEM_MAX + 1));
  struct rp__json_iter it = {0};
  struct rp__json item;
  char id[RP_ID_MAX + 1];
  double confidence = 1;
  while (rp__json_next(args[CATEGORY], &it, NULL, &item)) rp__tell(&words, item, words.n ? ",{}" : "{}");
  if (!text || words.err) return rp__fail_nomem(err);
  rp__json_double(args[CONFIDENCE], &confidence);
  int rc = rp__tool_session_may_write(m, err);
  if (!rc) rc = rp_remember(m->s, text, confidence, words.n ? words.p : NULL, id, err);
  if (rc) return rc;
  rp__jw_pack(w, "{memory_id:s scope:s confidence:d}", id, m->scope, confidence);
  return 0;
}

static void tell_remembered(struct rp__json doc, struct rp__buf *out)
{
  double confidence = 1;
  rp__json_double(rp__json_get(doc, "confidence"), &confidence);
  rp__buf_printf(out, "Remembered with a confidence of %.2f", confidence);
  rp__tell(out, doc, " as {memory_id}.");
}

/* ---- recall ---- */

static int on_memory(void *ctx, const rp_memory_info *m)
{
  struct rp__jw *w = ctx;
  rp__jw_pack(w, "{memory_id:s content:s categories:r confidence:d session_id:s updated_at:t}", m->id, m->content,
              m->categories ? m->categories : "[]", m->confidence, m->session_id,
              m->updated_at ? m->updated_at : m->created_at);
  return 0;
}

static int recall(struct rp__tool_session *m, const struct rp__json *args, struct rp__jw *w, rp_error *err)
{
  RP_AUTOFREE char *query = rp__json_dup(args[QUERY]);
  if (!query && args[QUERY].type != RP_JSON_NONE) return rp__fail_nomem(err);
  /* Blanks are no words to look for. */
  if (query && !query[strspn(query, " \t\r\n")]) query[0] = '\0';
  rp__jw_pack(w, "{scope:s memories:[", m->scope);
  int rc = rp_memories(m->e, m->scope, query && *query ? query : NULL, rp__takes_int(args[LIMIT], LIMIT_DEFAULT),
                       on_memory, w, err);
  rp__jw_pack(w, "]}");
  if (rc == RP_E_REFUSED) rp__hint(err, "call recall without a query to list them");
  return rc;
}

static void tell_recalled(struct rp__json doc, struct rp__buf *out)
{
  struct rp__json memories = rp__json_get(doc, "memories"), item;
  struct rp__json_iter it = {0};
  if (rp__json_count(memories) == 0) rp__buf_str(out, "Nothing is remembered about that.");
  while (rp__json_next(memories, &it, NULL, &item)) {
    double confidence = 0;
    rp__json_double(rp__json_get(item, "confidence"), &confidence);
    rp__buf_printf(out, "- (%.2f) ", confidence);
    rp__tell(out, item, "{content}\n");
  }
}

const struct rp__tool rp__tool_remember = {
    .name = "remember",
    .title = "Remember a fact",
    .description = "Stores a fact about this project for good: recall finds it in every later session. Use it for what "
                   "was found out the hard way or what the user states as lasting: conventions, decisions, addresses, "
                   "preferences. Not for secrets, nor for the state of the current work.",
    .takes = remember_takes,
    .always = true,
    .run = remember,
    .tell = tell_remembered,
};

const struct rp__tool rp__tool_recall = {
    .name = "recall",
    .title = "Recall facts",
    .description = "Finds what was remembered about this project in any session, the surest first. Look here before "
                   "asking the user for something or working it out again.",
    .takes = recall_takes,
    .reads = true,
    .repeats = true,
    .lone = true,
    .always = true,
    .run = recall,
    .tell = tell_recalled,
};
