/* SPDX-License-Identifier: Apache-2.0 */
#include "base/proc.h"

#include <sys/mman.h>

#define OURS 1

static size_t page_size(void)
{
  return (size_t)sysconf(_SC_PAGESIZE);
}

int rp__forkguard_init(struct rp__forkguard *g)
{
  void *page = mmap(NULL, page_size(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) return RP_E_NOMEM;
  if (madvise(page, page_size(), MADV_WIPEONFORK)) {
    munmap(page, page_size());
    return RP_E_FAILED;
  }
  g->page = page;
  *g->page = OURS;
  return 0;
}

bool rp__forkguard_same(const struct rp__forkguard *g)
{
  return g->page && *g->page == OURS;
}

void rp__forkguard_done(struct rp__forkguard *g)
{
  if (g->page) munmap((void *)(uintptr_t)g->page, page_size());
  g->page = NULL;
}
