/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the nearest word, by the number of insertions, deletions, changes and swaps of neighbours. */
#include "base/suggest.h"

#define WORD_MAX 32

/* Edits from a to b, or WORD_MAX when one of them is too long to be a mistyped word of ours. */
static unsigned distance(const char *a, const char *b)
{
  size_t n = strlen(a), m = strlen(b);
  unsigned rows[WORD_MAX + 1][WORD_MAX + 1];
  if (n > WORD_MAX || m > WORD_MAX) return WORD_MAX;
  for (unsigned j = 0; j <= m; j++) rows[0][j] = j;
  for (unsigned i = 1; i <= n; i++) {
    rows[i][0] = i;
    for (unsigned j = 1; j <= m; j++) {
      rows[i][j] = RP_MIN(rows[i - 1][j], rows[i][j - 1]) + 1;
      rows[i][j] = RP_MIN(rows[i][j], rows[i - 1][j - 1] + (a[i - 1] != b[j - 1]));
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        rows[i][j] = RP_MIN(rows[i][j], rows[i - 2][j - 2] + 1);
    }
  }
  return rows[n][m];
}

const char *rp__suggest(const char *word, const char *const *names)
{
  const char *best = NULL;
  size_t n = strlen(word);
  /* One edit in a short word, more in a long one; a beginning of the word is nearest of all. */
  unsigned limit = n <= 3 ? 1 : n <= 5 ? 2 : 3;
  for (; *names; names++) {
    unsigned d = n >= 3 && strncmp(*names, word, n) == 0 ? 0 : distance(word, *names);
    if (d > limit || d >= n) continue;
    best = *names;
    if (d == 0) break;
    limit = d - 1;
  }
  return best;
}
