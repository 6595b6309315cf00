#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How many of our functions and files an append and a start cross, and how often they ask the store.

The layers are compiled once more, without inlining and with a recorder at the begin and the end of each function
(trace.c); program.c takes each path in a process of its own. A function counts once, in the file that defines it. A
store call is a call of one of the slots of struct rp__store_ops from outside the store. Functions are counted in three
groups: the path itself (engine, facets, core, base), the readers it uses (json, redact), and what the store does
below its slots.

usage: paths.py BUILD [-v]      BUILD: a configured build folder, whose compile commands are used
"""
import json
import os
import re
import shlex
import subprocess
import sys
import tempfile
from collections import Counter, namedtuple
from concurrent.futures import ThreadPoolExecutor

HERE = os.path.dirname(os.path.realpath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
LAYERS = ('base', 'redact', 'json', 'core', 'facets', 'continuity', 'store', 'format', 'engine')
LIBRARIES = ('sqlite3', 'libzstd', 'libsodium', 'libpcre2-8', 'zlib', 'inih')
READERS = ('src/json/', 'src/redact/')
ABOVE = ('src/engine/', 'src/facets/', 'src/continuity/')

# The functions under which is counted, by the name of the root.
ROOTS = {
    'append': ('rp_append',),
    'prepare': ('batch_check', 'batch_prepare'),
    'start': ('rp_start',),
    'again': ('rp__batch_renew',),
}

# What a path may cost at most: `path` are functions of the path itself, `all` those of all groups; None: no limit.
Limit = namedtuple('Limit', 'what step root path all reads commits')
LIMITS = (
    Limit('append of a message', 'append', 'append', 65, 232, 1, 1),
    Limit('its preparation', 'append', 'prepare', None, None, 0, 0),
    Limit('preparations of two processes that write to one session', 'together', 'prepare', None, None, 0, 0),
    Limit('start of a successor', 'successor', 'start', None, None, 12, 1),
    Limit('start after a crash', 'resume', 'start', None, None, 12, 1),
)


def commands(build):
    """The compile command of each source of the layers, as a list of words."""
    with open(os.path.join(build, 'compile_commands.json'), encoding='utf-8') as f:
        for entry in json.load(f):
            if any(entry['output'].startswith(f'src/{layer}/librp_{layer}.a.p/') for layer in LAYERS):
                yield entry['output'], shlex.split(entry['command'])


def traced(words, source, output):
    """The same compile command without inlining, with the recorder, for `source` (None: its own)."""
    kept, skip = [], False
    for word in words:
        if skip:
            skip = False
        elif word in ('-o', '-MQ', '-MF'):
            skip = True
        elif source and word.endswith('.c'):
            kept.append(source)
        elif word not in ('-MD', '-Werror') and not re.match(r'-O|-g|-fsanitize|-D_FORTIFY_SOURCE|-flto', word):
            kept.append(word)
    return kept + ['-O0', '-g1', '-w', '-fno-inline', '-finstrument-functions', '-o', output]


def compile_all(build, out):
    jobs, engine = [], None
    for n, (output, words) in enumerate(commands(build)):
        jobs.append(traced(words, None, os.path.join(out, f'{n}.o')))
        if output.startswith('src/engine/'):
            engine = words
    for name in ('program', 'trace'):
        own = traced(engine, os.path.join(HERE, name + '.c'), os.path.join(out, name + '.o'))
        jobs.append([w for w in own if w != '-finstrument-functions'])
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        if any(done.returncode for done in pool.map(lambda job: subprocess.run(job, cwd=build), jobs)):
            sys.exit('paths: the tracing build failed')
    program = os.path.join(out, 'program')
    libraries = subprocess.run(['pkg-config', '--libs', *LIBRARIES], check=True, capture_output=True, text=True)
    compiler = [w for w in engine[:next(n for n, w in enumerate(engine) if w.startswith('-'))] if 'ccache' not in w]
    subprocess.run([*compiler, '-o', program, *(job[-1] for job in jobs), *libraries.stdout.split(), '-lm', '-pthread'],
                   check=True)
    return program


def slots():
    """The functions of the SQLite store that fill the slots: {function: slot}."""
    with open(os.path.join(TOP, 'src/store/sqlite/open.c'), encoding='utf-8') as f:
        table = re.search(r'rp__store_ops ops = \{(.*?)\};', f.read(), re.S).group(1)
    return {function: slot for slot, function in re.findall(r'\.(\w+) = (\w+)', table)}


def roots(program):
    """What trace.c reads from PATHS_ROOTS."""
    at = {}
    for line in subprocess.run(['nm', program], check=True, capture_output=True, text=True).stdout.splitlines():
        words = line.split()
        if len(words) == 3 and words[1] in 'tT':
            at[words[2]] = words[0]
    start = int(at.pop('__executable_start', '0'), 16)
    named = dict(ROOTS, store=tuple(slots()))
    missing = [f for names in ROOTS.values() for f in names if f not in at]
    if missing:
        sys.exit(f'paths: no function is called {", ".join(missing)} any more: change ROOTS')
    return ' '.join(f'{name}={",".join(f"{int(at[f], 16) - start:x}" for f in functions)}'
                    for name, functions in named.items())


def resolve(program, addresses):
    """Function and file, below the source root, of each address."""
    ordered = sorted(addresses)
    told = subprocess.run(['addr2line', '-f', '-e', program], input='\n'.join(ordered), check=True,
                          capture_output=True, text=True).stdout.split('\n')
    # A compiler cache may have named the sources in another work tree, and headers through the layers' links.
    below = re.compile(r'/src/(?:inc/\w+/)?((?:%s)/.*?)(?::.*)?$' % '|'.join(LAYERS))
    names = {}
    for n, address in enumerate(ordered):
        found = below.search(told[2 * n + 1])
        names[address] = told[2 * n], 'src/' + found.group(1) if found else 'elsewhere'
    # A function of a header is compiled into several files, and counts once.
    shared = dict(named for named in names.values() if named[1].endswith('.h'))
    return {address: (name, shared.get(name, file)) for address, (name, file) in names.items()}


def record(program, step, db, scratch, processes=1):
    """Runs one step, in several processes at once: {root: {(callee, caller): (calls above the store, inside it)}}."""
    env = {k: v for k, v in os.environ.items() if not k.startswith('REPRISE')}
    env.update(PATHS_ROOTS=roots(program), HOME=scratch)
    outs = [os.path.join(scratch, f'calls{n}') for n in range(processes)]
    running = [subprocess.Popen([program, step, db], env=dict(env, PATHS_OUT=out)) for out in outs]
    if any([process.wait() for process in running]):
        sys.exit(f'paths: the step "{step}" failed')
    calls = {}
    for out in filter(os.path.exists, outs):
        with open(out, encoding='utf-8') as f:
            for line in f:
                root, callee, caller, above, inside = line.split()
                known = calls.setdefault(root, {}).get((callee, caller), (0, 0))
                calls[root][callee, caller] = known[0] + int(above), known[1] + int(inside)
        os.remove(out)
    return calls


def measure(program, calls):
    """The functions of each group, and the store calls by slot."""
    names = resolve(program, {a for pair in calls for a in pair})
    store = slots()
    asked = Counter()
    groups = {'path': set(), 'readers': set(), 'store': set()}
    for (callee, caller), (above, inside) in calls.items():
        name, file = names[callee]
        if name in store and not names[caller][1].startswith('src/store/'):
            asked[store[name]] += above + inside
        # Callbacks of the engine's run inside the store's slots, and belong to the path.
        if not file.startswith('src/store/') and (above or file.startswith(ABOVE)):
            groups['readers' if file.startswith(READERS) else 'path'].add((name, file))
    for (callee, _), (above, inside) in calls.items():
        if names[callee] not in groups['path'] | groups['readers']:
            groups['store'].add(names[callee])
    return groups, asked


def report(limit, groups, asked, verbose):
    """Prints what a path costs; True when that is more than its limit."""
    commits = asked.pop('commit', 0)
    told = ', '.join(f'{slot} {n}' for slot, n in asked.most_common())
    everything = set().union(*groups.values())
    print(f'{limit.what}: {len(groups["path"])} functions in {len({f for _, f in groups["path"]})} files, '
          f'with readers and store {len(everything)} in {len({f for _, f in everything})}; '
          f'{sum(asked.values())} store reads ({told or "none"}), {commits} commits')
    for group, functions in groups.items() if verbose else ():
        print(f'  {group}: {len(functions)}')
        for file in sorted({f for _, f in functions}):
            print(f'    {file}: {", ".join(sorted(name for name, f in functions if f == file))}')
    failed = False
    for what, now, most in (('functions of the path', len(groups['path']), limit.path),
                            ('functions in all', len(everything), limit.all),
                            ('store reads', sum(asked.values()), limit.reads), ('commits', commits, limit.commits)):
        if most is not None and now > most:
            print(f'  FAILED: {now} {what}, the limit is {most}')
            failed = True
    return failed


def main():
    build = os.path.realpath(sys.argv[1])
    with tempfile.TemporaryDirectory(prefix='paths-') as scratch:
        program = compile_all(build, scratch)
        db = 'sqlite:' + os.path.join(scratch, 'paths.db')
        for step in ('ended', 'crashed'):
            record(program, step, db, scratch)
        recorded = {step: record(program, step, db, scratch) for step in ('append', 'successor', 'resume')}
        recorded['together'] = record(program, 'together', db, scratch, processes=2)
        failures = [report(limit, *measure(program, recorded[limit.step].get(limit.root, {})), '-v' in sys.argv)
                    for limit in LIMITS]
        again = recorded['together'].get('again', {})
        if not again:
            print('FAILED: two processes wrote to one session, and the store refused none of them')
    return any(failures) or not again


if __name__ == '__main__':
    sys.exit(main())
