/* SPDX-License-Identifier: Apache-2.0 */
/* The server's own metrics in Prometheus' text format. */
#include <dirent.h>
#include <fcntl.h>

#include "server/agent/agent.h"
#include "server/server.h"
#include "server/channel/socket.h"
#include "server/live/sse.h"

static void head(struct rp__buf *out, const char *name, const char *type, const char *help)
{
  rp__buf_printf(out, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

void rp__metrics_write(struct rp__buf *out, const struct rp__metric *rows, size_t n)
{
  for (size_t i = 0; i < n; i++) {
    head(out, rows[i].name, rows[i].type, rows[i].help);
    rp__buf_printf(out, "%s %lld\n", rows[i].name, rows[i].value);
  }
}

/* ---- requests and live parts ---- */

static void write_http(struct rp__server *srv, struct rp__buf *out)
{
  /* The first request may be here before the thread that opened HTTP knows its handle. */
  bool open = atomic_load(&srv->ready) || atomic_load(&srv->draining);
  const struct rp__metric rows[] = {
      {"reprise_http_requests_total", "counter", "Requests whose head was read.", atomic_load(&srv->requests)},
      {"reprise_http_connections", "gauge", "Connections that speak HTTP.", open ? rp__http_connections(srv->http) : 0},
      {"reprise_http_pending", "gauge", "Requests that wait for their answer.", open ? rp__http_pending(srv->http) : 0},
      {"reprise_server_pool_waiting", "gauge", "Requests and tasks that wait for a thread.",
       (long long)rp__pool_waiting(srv->pool)},
      {"reprise_server_pool_tasks_total", "counter", "Tasks that a thread has begun.",
       (long long)rp__pool_begun(srv->pool)},
      {"reprise_server_registry_entries", "gauge", "Handles of sessions that are kept.",
       (long long)rp__registry_count(srv->registry)},
  };
  rp__metrics_write(out, rows, RP_ARRAY_SIZE(rows));
  head(out, "reprise_http_answers_total", "counter", "Answers by class of status; none: the client was gone.");
  for (int i = 0; i < 6; i++) {
    static const char *const classes[] = {"none", "1xx", "2xx", "3xx", "4xx", "5xx"};
    rp__buf_printf(out, "reprise_http_answers_total{class=\"%s\"} %lld\n", classes[i], atomic_load(&srv->answers[i]));
  }
}

static void write_live(struct rp__server *srv, struct rp__buf *out)
{
  struct rp__live_counts c = {0};
  rp__live_counts(srv->live, &c);
  const struct rp__metric rows[] = {
      {"reprise_server_streams", "gauge", "Event streams that are open.", (long long)rp__sse_streams(srv->sse)},
      {"reprise_server_subscriptions", "gauge", "Subscriptions to a session's events.", c.subscriptions},
      {"reprise_server_list_subscriptions", "gauge", "Subscriptions to lists of sessions.", c.list_subscriptions},
      {"reprise_server_live_events_total", "counter", "Events read for subscribers.", c.events},
      {"reprise_server_deliveries_total", "counter", "Events handed to a subscriber.", c.deliveries},
      {"reprise_server_held_back_total", "counter", "Events a subscriber could not take at once.", c.held_back},
      {"reprise_server_resets_total", "counter", "Subscribers that were ahead of the journal.", c.resets},
  };
  rp__metrics_write(out, rows, RP_ARRAY_SIZE(rows));
  rp__channels_metrics(srv->channels, out);
  rp__agents_metrics(srv->agents, out);
}

/* ---- the process ---- */

static long long open_files(void)
{
  long long n = 0;
  DIR *d = opendir("/proc/self/fd");
  if (!d) return 0;
  for (const struct dirent *e; (e = readdir(d));) n += e->d_name[0] != '.';
  closedir(d);
  return n - 1; /* the folder itself */
}

static long long resident_bytes(void)
{
  char text[128] = "", *end;
  int fd RP_AUTOCLOSE = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
  if (fd < 0 || read(fd, text, sizeof text - 1) <= 0) return 0;
  strtoll(text, &end, 10);
  return strtoll(end, NULL, 10) * sysconf(_SC_PAGESIZE);
}

void rp__server_metrics(struct rp__server *srv, struct rp__buf *out)
{
  write_http(srv, out);
  write_live(srv, out);
  rp_outbox_counts c;
  rp_outbox_counts_get(srv->engine, &c);
  const struct rp__metric store[] = {
      {"reprise_store_away", "gauge", "1 while the store can't be written.", c.away},
      {"reprise_store_away_windows_total", "counter", "Times the store went away.", c.windows},
      {"reprise_spill_events", "gauge", "Events in memory that the store has not taken yet.", c.waiting_events},
      {"reprise_spill_bytes", "gauge", "Bytes of them.", c.waiting_bytes},
      {"reprise_spill_limit_bytes", "gauge", "Bytes there may be (spill_bytes).", (long long)srv->set.spill_bytes},
      {"reprise_spill_accepted_total", "counter", "Events kept in memory because the store was away.", c.accepted},
      {"reprise_spill_stored_total", "counter", "Of these, events that the store has taken since.", c.stored},
      {"reprise_spill_repeated_total", "counter", "Of these, events that were in the store already.", c.repeated},
      {"reprise_spill_refused_total", "counter", "Events refused while the store was away.", c.refused},
      {"reprise_spill_lost_total", "counter", "Events accepted as memory that were never stored.", c.lost},
  };
  rp__metrics_write(out, store, RP_ARRAY_SIZE(store));
  rp__work_metrics(srv->work, out);
  const struct rp__metric process[] = {
      {"process_start_time_seconds", "gauge", "When the server began, since 1970.", srv->started_ms / 1000},
      {"process_resident_memory_bytes", "gauge", "Memory in use.", resident_bytes()},
      {"process_open_fds", "gauge", "File descriptors in use.", open_files()},
      {"process_max_fds", "gauge", "File descriptors there may be.", sysconf(_SC_OPEN_MAX)},
  };
  rp__metrics_write(out, process, RP_ARRAY_SIZE(process));
}
