"""The rules: the calls, classes and modules that a synchronous Celery worker must not use, by dotted path.

A path is what a name means after all imports and aliases, with `()` for a call: `requests.Session().get`. Different
ways to reach one thing are written as one path first (`canonical`), so each rule is here once.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Literal, NamedTuple, TypeAlias

Code: TypeAlias = Literal["ASYNC_SYNTAX", "ASYNC_LIBRARY", "EVENT_LOOP", "BACKGROUND", "PROCESS", "NO_TIMEOUT"]

#: What to do about a finding.
HINTS: Mapping[Code, str] = {
    "ASYNC_SYNTAX": "write a plain function that returns its result: the task has no event loop to run this",
    "ASYNC_LIBRARY": "use the synchronous library or class, such as requests, httpx.Client or redis.Redis",
    "EVENT_LOOP": "call synchronous code; a task must not start an event loop of its own",
    "BACKGROUND": "wait for it in the same function (join, wait, result, or `with`), or do the work right here",
    "PROCESS": "a worker of Celery may not start such a process; use threads, or subprocess.run with a timeout",
    "NO_TIMEOUT": "set a time limit where the call can be seen, such as timeout=30",
}

#: Packages for event loops; importing one is a finding.
_ASYNC_PACKAGES = frozenset(
    {"asyncio", "anyio", "trio", "aiohttp", "aiofiles", "asyncpg", "aioredis", "motor", "aiokafka"}
    | {"redis.asyncio", "sqlalchemy.ext.asyncio", "grpc.aio", "tornado.platform.asyncio"}
    | {"aiomysql", "aiopg", "aiosqlite", "aiosmtplib", "aioboto3", "aiobotocore", "aio_pika", "aiohttp_retry"}
    | {"async_timeout", "curio", "uvloop", "nest_asyncio"}
)
_ASYNC_CLASS = re.compile(r"Async(?:[A-Z]\w*)?\Z")
#: They describe or inspect asynchronous code and run none.
_DESCRIBING = frozenset({"typing", "typing_extensions", "collections", "types", "ast", "inspect", "_ast"})


def is_async(path: str) -> bool:
    """True if this path is in an asynchronous library, or is an `Async…` class of another package."""
    parts = path.replace("()", "").split(".")
    if parts[0] in _ASYNC_PACKAGES:
        return True
    if any(".".join(parts[:length]) in _ASYNC_PACKAGES for length in (2, 3)):
        return True
    if len(parts) == 1 or parts[0] in _DESCRIBING:
        return False
    return any(_ASYNC_CLASS.match(part) and part != "AsyncResult" for part in parts[1:])


# -- one path for each thing ------------------------------------------------------------------------------------------

_ALIASES: Mapping[str, str] = {
    "requests.api": "requests",
    "requests.sessions": "requests",
    "requests.session": "requests.Session",
    "requests.packages.urllib3": "urllib3",
    "urllib3.poolmanager": "urllib3",
    "urllib3.connectionpool": "urllib3",
    "urllib3.util.timeout": "urllib3",
    "urllib3.util.Timeout": "urllib3.Timeout",
    "urllib3.ProxyManager": "urllib3.PoolManager",
    "urllib3.HTTPConnectionPool": "urllib3.PoolManager",
    "urllib3.HTTPSConnectionPool": "urllib3.PoolManager",
    "urllib3.connection_from_url": "urllib3.PoolManager",
    "urllib3.proxy_from_url": "urllib3.PoolManager",
    "six.moves.urllib": "urllib",
    "http.client.HTTPSConnection": "http.client.HTTPConnection",
    "poplib.POP3_SSL": "poplib.POP3",
    "imaplib.IMAP4_SSL": "imaplib.IMAP4",
    "_socket": "socket",
    "posix": "os",
    "redis.client": "redis",
    "redis.connection": "redis",
    "redis.cluster": "redis",
    "redis.sentinel": "redis",
    "redis.StrictRedis": "redis.Redis",
    "redis.Redis.from_url": "redis.from_url",
    "redis.ConnectionPool.from_url": "redis.from_url",
    "redis.BlockingConnectionPool.from_url": "redis.from_url",
    "redis.RedisCluster.from_url": "redis.from_url",
    "redis.utils.from_url": "redis.from_url",
    "psycopg.Connection.connect": "psycopg.connect",
    "psycopg2.extensions.connection": "psycopg2.connect",
    "psycopg2.pool.ThreadedConnectionPool": "psycopg2.pool.SimpleConnectionPool",
    "psycopg2.pool.PersistentConnectionPool": "psycopg2.pool.SimpleConnectionPool",
    "pymysql.connections": "pymysql",
    "pymysql.Connection": "pymysql.connect",
    "pymysql.Connect": "pymysql.connect",
    "MySQLdb.connections": "MySQLdb",
    "MySQLdb.Connection": "MySQLdb.connect",
    "MySQLdb.Connect": "MySQLdb.connect",
    "mysql.connector.Connect": "mysql.connector.connect",
    "mysql.connector.connection": "mysql.connector",
    "mysql.connector.MySQLConnection": "mysql.connector.connect",
    "mysql.connector.pooling.MySQLConnectionPool": "mysql.connector.connect",
    "pymongo.mongo_client": "pymongo",
    "concurrent.futures.thread": "concurrent.futures",
    "concurrent.futures.process": "concurrent.futures",
    "concurrent.futures._base": "concurrent.futures",
    "concurrent.futures.Executor": "concurrent.futures.ThreadPoolExecutor",
    "multiprocess": "multiprocessing",
    "multiprocessing.context": "multiprocessing",
    "multiprocessing.process": "multiprocessing",
    "multiprocessing.get_context()": "multiprocessing",
    "multiprocessing.SpawnProcess": "multiprocessing.Process",
    "multiprocessing.ForkProcess": "multiprocessing.Process",
    "multiprocessing.BaseProcess": "multiprocessing.Process",
    "multiprocessing.pool.Pool": "multiprocessing.Pool",
    "multiprocessing.dummy.Pool": "multiprocessing.pool.ThreadPool",
    "multiprocessing.dummy.Process": "threading.Thread",
    "multiprocessing.managers.SyncManager": "multiprocessing.Manager",
    "multiprocessing.managers.BaseManager": "multiprocessing.Manager",
    "threading._Timer": "threading.Timer",
    "gevent.greenlet": "gevent",
    "gevent.pool.Group": "gevent.pool.Pool",
    "eventlet.greenpool.GreenPool": "eventlet.GreenPool",
    "celery.app.task": "celery",
    "celery.canvas": "celery",
    "@task.s().set()": "@task.s()",
    "@task.s().clone()": "@task.s()",
    "celery.app.base": "celery",
    "celery.task.Task": "celery.Task",
    "celery.local": "celery",
}


def canonical(path: str) -> str:
    """Return the path under which the rules know this thing."""
    return _ALIASES.get(path, path)


# -- calls ------------------------------------------------------------------------------------------------------------


class Limit(NamedTuple):
    """A call that needs a time limit (NO_TIMEOUT).

    A text (an address, a connection string) among the first arguments may set it as well: `NAME=5`.
    """

    #: The parameters that set one.
    keywords: tuple[str, ...] = ("timeout",)
    #: The place of the first of them among the positional ones.
    position: int | None = None
    #: There is a limit unless it is switched off with None.
    by_default: bool = False
    #: Zero means no limit.
    zero_is_none: bool = False
    #: A limit may have been set where the object was made.
    by_object: bool = False
    #: `socket.setdefaulttimeout` sets it.
    by_socket: bool = False
    #: Why there is none, where no parameter can set one.
    never: str = ""


class MakesLimited(NamedTuple):
    """A constructor whose parameter sets the limit of all calls of the object."""

    keywords: tuple[str, ...] = ("timeout",)


class Timeouts(NamedTuple):
    """A class of time limits."""

    #: The first parameter: one limit for everything.
    whole: str
    #: The parameters with one limit each.
    parts: tuple[str, ...]


class Finding(NamedTuple):
    """A call that is a finding whatever its arguments are."""

    code: Code
    message: str


class Starts(NamedTuple):
    """A call that starts something which goes on in the background, unless the function waits for it."""

    what: str
    #: The call returns something to wait for, such as a future.
    returns_handle: bool = False


class WaitsFor(NamedTuple):
    """A call that waits for the object it belongs to."""

    #: It waits for its arguments.
    arguments: bool = False


class BlocksOn(NamedTuple):
    """A call of a socket that waits, unless a limit was set for the socket."""


class SetsLimit(NamedTuple):
    """A call that sets the limit of a socket."""

    #: Of all new sockets.
    default: bool = False


Rule: TypeAlias = Limit | MakesLimited | Timeouts | Finding | Starts | WaitsFor | BlocksOn | SetsLimit

_HTTP_VERBS = ("get", "post", "put", "patch", "delete", "head", "options", "request")
_POOL = "concurrent.futures.ThreadPoolExecutor()"
_THREADS = "multiprocessing.pool.ThreadPool()"
_SOCKET_CALLS = (
    "connect",
    "connect_ex",
    "accept",
    "recv",
    "recv_into",
    "recvfrom",
    "recvfrom_into",
    "recvmsg",
    "sendall",
)
_MONGO = ("timeoutMS", "socketTimeoutMS", "serverSelectionTimeoutMS", "connectTimeoutMS")
_MYSQL = ("read_timeout", "connect_timeout", "connection_timeout", "write_timeout")


def _each(paths: Iterable[str], rule: Rule) -> dict[str, Rule]:
    return dict.fromkeys(paths, rule)


def _never(instead: str) -> Limit:
    return Limit(keywords=(), never=f"it cannot have one; use {instead}")


CALLS: Mapping[str, Rule] = {
    # NO_TIMEOUT
    **_each((f"requests.{verb}" for verb in _HTTP_VERBS), Limit()),
    **_each((f"requests.Session().{verb}" for verb in (*_HTTP_VERBS, "send")), Limit()),
    "requests.Session().request": Limit(position=8),
    **_each((f"httpx.{verb}" for verb in (*_HTTP_VERBS, "stream", "Client", "AsyncClient")), Limit(by_default=True)),
    **_each((f"httpx.Client().{verb}" for verb in (*_HTTP_VERBS, "stream", "build_request")), Limit(by_default=True)),
    "httpx.Timeout": Timeouts(whole="timeout", parts=("connect", "read", "write", "pool")),
    "urllib3.Timeout": Timeouts(whole="total", parts=("connect", "read")),
    "urllib3.PoolManager": MakesLimited(),
    "urllib3.request": Limit(),
    **_each(
        (
            f"urllib3.PoolManager().{call}"
            for call in ("request", "urlopen", "request_encode_url", "request_encode_body")
        ),
        Limit(by_object=True),
    ),
    "urllib.request.urlopen": Limit(position=2, by_socket=True),
    "urllib.request.urlretrieve": Limit(keywords=(), by_socket=True, never="it cannot have one; use urlopen"),
    "urllib.request.build_opener().open": Limit(position=2, by_socket=True),
    "urllib.request.OpenerDirector().open": Limit(position=2, by_socket=True),
    "smtplib.SMTP": Limit(position=3, by_socket=True),
    "smtplib.LMTP": Limit(by_socket=True),
    "smtplib.SMTP_SSL": Limit(position=5, by_socket=True),
    "ftplib.FTP": Limit(position=4, by_socket=True),
    "ftplib.FTP_TLS": Limit(by_socket=True),
    "poplib.POP3": Limit(by_socket=True),
    "imaplib.IMAP4": Limit(by_socket=True),
    "telnetlib.Telnet": Limit(position=2, by_socket=True),
    "http.client.HTTPConnection": Limit(position=2, by_socket=True),
    "socket.create_connection": Limit(position=1, by_socket=True),
    **_each((f"socket.socket().{call}" for call in _SOCKET_CALLS), BlocksOn()),
    "socket.socket().settimeout": SetsLimit(),
    "socket.socket().setblocking": SetsLimit(),
    "socket.setdefaulttimeout": SetsLimit(default=True),
    "psycopg.connect": Limit(("connect_timeout",), zero_is_none=True),
    "psycopg2.connect": Limit(("connect_timeout",), zero_is_none=True),
    "psycopg2.pool.SimpleConnectionPool": Limit(("connect_timeout",), zero_is_none=True),
    "redis.Redis": Limit(("socket_timeout", "connection_pool"), position=4),
    "redis.RedisCluster": Limit(("socket_timeout",)),
    "redis.ConnectionPool": Limit(("socket_timeout",)),
    "redis.BlockingConnectionPool": Limit(("socket_timeout",)),
    "redis.Sentinel": Limit(("socket_timeout",)),
    "redis.from_url": Limit(("socket_timeout",)),
    "pymysql.connect": Limit(_MYSQL, zero_is_none=True),
    "MySQLdb.connect": Limit(_MYSQL, zero_is_none=True),
    "mysql.connector.connect": Limit(_MYSQL, zero_is_none=True),
    "pymongo.MongoClient": Limit(_MONGO, zero_is_none=True),
    **_each((f"subprocess.{call}" for call in ("run", "call", "check_call", "check_output")), Limit()),
    **_each(("subprocess.getoutput", "subprocess.getstatusoutput"), _never("subprocess.run with timeout=")),
    **_each(("os.system", "os.popen"), _never("subprocess.run with timeout=")),
    # EVENT_LOOP
    **{
        path: Finding(code="EVENT_LOOP", message=f"{path}() starts or takes an event loop")
        for path in (
            *(f"asyncio.{name}" for name in ("run", "Runner", "get_event_loop", "new_event_loop", "set_event_loop")),
            *(f"asyncio.{name}" for name in ("get_running_loop", "run_coroutine_threadsafe", "set_event_loop_policy")),
            *("anyio.run", "trio.run", "curio.run", "uvloop.run", "uvloop.install", "uvloop.new_event_loop"),
            *("asgiref.sync.async_to_sync", "nest_asyncio.apply", "asyncio.events.get_event_loop"),
            *("asyncio.runners.run", "tornado.ioloop.IOLoop", "tornado.ioloop.IOLoop.current"),
            *("tornado.ioloop.IOLoop.instance", "twisted.internet.reactor.run"),
        )
    },
    # PROCESS
    **{
        path: Finding(code="PROCESS", message=f"{path}() starts a process, which a worker of Celery may not do")
        for path in (
            *("multiprocessing.Process", "multiprocessing.Pool", "multiprocessing.Manager"),
            *("concurrent.futures.ProcessPoolExecutor", "os.fork", "os.forkpty", "pty.fork"),
        )
    },
    # BACKGROUND
    "threading.Thread().start": Starts("a thread"),
    "threading.Thread().join": WaitsFor(),
    "threading.Timer().start": Starts("a timer"),
    "threading.Timer().join": WaitsFor(),
    "subprocess.Popen": Starts("a program", returns_handle=True),
    "subprocess.Popen().wait": WaitsFor(),
    "subprocess.Popen().communicate": WaitsFor(),
    f"{_POOL}.submit": Starts("work in a pool", returns_handle=True),
    f"{_POOL}.map": Starts("work in a pool", returns_handle=True),
    f"{_POOL}.shutdown": WaitsFor(),
    f"{_POOL}.submit().result": WaitsFor(),
    f"{_POOL}.submit().exception": WaitsFor(),
    "concurrent.futures.wait": WaitsFor(arguments=True),
    "concurrent.futures.as_completed": WaitsFor(arguments=True),
    **_each(
        (f"{_THREADS}.{call}" for call in ("apply_async", "map_async", "starmap_async", "imap", "imap_unordered")),
        Starts("work in a pool", returns_handle=True),
    ),
    f"{_THREADS}.join": WaitsFor(),
    **_each(
        (
            f"{_THREADS}.{call}().{wait}"
            for call in ("apply_async", "map_async", "starmap_async")
            for wait in ("get", "wait")
        ),
        WaitsFor(),
    ),
    **{
        path: Finding("BACKGROUND", f"{path.replace('()', '')}() goes on after the function has ended")
        for path in (
            *("_thread.start_new_thread", "_thread.start_new"),
            *(f"gevent.{call}" for call in ("spawn", "spawn_later", "spawn_raw", "Greenlet.spawn", "Greenlet().start")),
            *("gevent.Greenlet.spawn_later", "gevent.Greenlet().start_later"),
            *(f"gevent.pool.Pool().{call}" for call in ("spawn", "apply_async", "start", "map_async")),
            *(f"gevent.threadpool.ThreadPool().{call}" for call in ("spawn", "apply_async")),
            *("eventlet.spawn", "eventlet.spawn_n", "eventlet.spawn_after", "eventlet.GreenPool().spawn"),
            "eventlet.GreenPool().spawn_n",
        )
    },
    **{
        f"{owner}.{call}": Finding("BACKGROUND", f"{call}() sends a task of this file to another worker")
        for owner in ("@task", "@task.s()", "celery.Task()")
        for call in ("delay", "apply_async")
    },
}

_KNOWN = [path for path in (*_ALIASES, *CALLS, *_ASYNC_PACKAGES) if "()" not in path and "@" not in path]
#: The modules in which there is something that the rules judge, or that makes names known.
MODULES = frozenset(
    {*_KNOWN, *(path.rpartition(".")[0] for path in _KNOWN)}
    | {"typing", "typing_extensions", "functools", "importlib", "contextlib"}
)

#: The methods of a loop, whatever it was reached by.
LOOP_METHODS = frozenset({"run_until_complete", "run_forever", "run_in_executor", "call_soon_threadsafe"})

#: Calls that call another function with some of their arguments: the place of that function, or its keyword.
CALLBACKS: Mapping[str, tuple[int | None, str]] = {
    "builtins.map": (0, ""),
    "builtins.filter": (0, ""),
    "threading.Thread": (1, "target"),
    "threading.Timer": (1, "function"),
    f"{_POOL}.submit": (0, ""),
    f"{_POOL}.map": (0, ""),
    **{
        f"{_THREADS}.{call}": (0, "func")
        for call in ("map", "apply", "starmap", "imap", "apply_async", "map_async", "starmap_async", "imap_unordered")
    },
}

#: They make one signature of those that they are given, of a task each.
JOINS_SIGNATURES = frozenset({"celery.group", "celery.chain", "celery.chord"})

#: Objects that are waited for at the end of a `with` statement.
WAITS_AT_EXIT = frozenset({_POOL, _THREADS, "subprocess.Popen()"})
#: Results of a pool: a loop over them waits for the work.
WAITED_FOR_BY_LOOP = frozenset({f"{_POOL}.map()", f"{_THREADS}.imap()", f"{_THREADS}.imap_unordered()"})
#: Calls that return what they are given.
RETURNS_ARGUMENT = frozenset(
    {"contextlib.closing", "contextlib.nullcontext", "copy.copy", "copy.deepcopy", "concurrent.futures.as_completed"}
    | {f"builtins.{name}" for name in ("list", "tuple", "set", "frozenset", "sorted", "reversed", "iter")}
)
