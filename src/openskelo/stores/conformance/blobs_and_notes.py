"""Checks of Blobs and Notes: values by digest, cached outputs and documents by key."""

from __future__ import annotations

from openskelo import errors, files
from openskelo.stores import blobs
from openskelo.stores.conformance import fixtures


async def blobs_come_back_by_name(open_store: fixtures.Open) -> None:
    """Large and small blobs come back by name, also when two stores wrote them; other names raise an error."""
    large, small = b"\x00\xff" * 50_000, b"small"
    async with fixtures.opened(open_store) as store, fixtures.opened(open_store) as other:
        name = await store.put_blob(large)
        fixtures.assert_equal(name, blobs.name_of(large))
        fixtures.assert_equal(await other.put_blob(large), name)
        await store.append([fixtures.append(0, b"1", blobs={blobs.name_of(small): small, blobs.name_of(b""): b""})])
        await store.append([fixtures.append(1, b"2", blobs={blobs.name_of(small): small})])
        fixtures.assert_equal([await each.read_blob(name) for each in (store, other)], [large, large])
        fixtures.assert_equal(await other.read_blob(blobs.name_of(small)), small)
        fixtures.assert_equal(await store.read_blob(blobs.name_of(b"")), b"")
        await fixtures.assert_raises(errors.NotFound, store.read_blob(blobs.name_of(b"never written")))
        for bad in ("", "sha256:", "sha256:../../etc/passwd", "sha256:" + "A" * 64, "md5:" + "0" * 64, name + "\n"):
            await fixtures.assert_raises(errors.InvalidInput, store.read_blob(bad))
        await fixtures.assert_raises(errors.InvalidInput, store.append([fixtures.append(2, b"3", blobs={"../x": b""})]))
        fixtures.assert_equal(await fixtures.lines(store, fixtures.RUN), [b"1", b"2"])


async def a_blob_is_durable_with_what_names_it(open_store: fixtures.Open) -> None:
    """Another store finds a blob as soon as an Append, a command or a note of the store that put it names it."""
    values = [b"%d" % number * size for number, size in enumerate((40_000, 200_000, 3_000_000, 50_000))]
    async with fixtures.opened(open_store) as store, fixtures.opened(open_store) as other:
        names = [await store.put_blob(value) for value in values]
        lines = [b'{"data":{"outputs":{"blob":"%b"}}}' % name.encode() for name in names]
        await store.append([fixtures.append(0, lines[2]), fixtures.append(0, lines[0], run_id=fixtures.OTHER)])
        await store.queue_command(fixtures.RUN, {"stored": {"blob": names[1]}})
        await store.save_note("note", {"blob": names[3]}, at=1)
        fixtures.assert_equal([await other.read_blob(name) for name in names], values)


async def blobs_are_files_for_readers(open_store: fixtures.Open) -> None:
    """A store with a data dir shows large and small blobs as files; other stores, and unknown names, have no path."""
    large, small = b"\x00\xff" * 50_000, b"small"
    async with fixtures.opened(open_store) as store:
        await store.append([fixtures.append(0, b"1", blobs={blobs.name_of(small): small})])
        await store.put_blob(large)
        for data in (small, large):
            first, again = (store.locate_blob(blobs.name_of(data)) for _ in range(2))
            fixtures.assert_equal(again, first)
            fixtures.assert_equal(first is None, store.data_dir is None)
            if first is not None:
                fixtures.assert_equal(files.read_plain(first), data)
        fixtures.assert_equal(store.locate_blob(blobs.name_of(b"never written")), None)


async def wrong_bytes_behind_a_name_are_noticed(open_store: fixtures.Open) -> None:
    """Reading a blob that was saved under the name of other bytes raises Corrupt."""
    name = blobs.name_of(b"what was meant")
    async with fixtures.opened(open_store) as store:
        await store.append([fixtures.append(0, b"1", blobs={name: b"what was written"})])
        await fixtures.assert_raises(errors.Corrupt, store.read_blob(name))


async def the_cache_keeps_the_newest(open_store: fixtures.Open) -> None:
    """The cache returns the newest outputs of each key, and None for an unknown key."""
    async with fixtures.opened(open_store) as store:
        await store.append([fixtures.append(0, b"1", cached={"a": {"value": 1}, "b": {"value": "é"}})])
        await store.append([fixtures.append(1, b"2", cached={"a": {"blob": "sha256:0", "bytes": 5}})])
        fixtures.assert_equal(await store.read_cached_outputs("a"), {"blob": "sha256:0", "bytes": 5})
        fixtures.assert_equal(await store.read_cached_outputs("b"), {"value": "é"})
        fixtures.assert_equal(await store.read_cached_outputs("c"), None)


async def notes_are_kept_by_key(open_store: fixtures.Open) -> None:
    """A note replaces the older one unless `first` is set; `delete_notes` deletes old ones; all stores agree."""
    async with fixtures.opened(open_store) as store, fixtures.opened(open_store) as other:
        fixtures.assert_equal(await store.read_note("a:1"), None)
        fixtures.assert_equal(await store.save_note("a:1", {"value": "é"}, at=10, first=True), True)
        fixtures.assert_equal(await other.save_note("a:1", {"value": 2}, at=20, first=True), False)
        fixtures.assert_equal(await other.read_note("a:1"), {"value": "é"})
        fixtures.assert_equal(await other.save_note("a:1", {"value": 3}, at=30), True)
        fixtures.assert_equal(await other.save_note("a:2", {"value": 4}, at=10), True)
        fixtures.assert_equal(await other.save_note("b:1", {"value": 5}, at=10), True)
        fixtures.assert_equal(
            list((await store.list_notes("a:")).items()), [("a:1", {"value": 3}), ("a:2", {"value": 4})]
        )
        fixtures.assert_equal(await store.list_notes("c:"), {})
        await store.save_notes({"d:1": {"value": 7}, "d:2": {"value": 8}}, at=50)
        await store.save_notes({"d:2": {"value": 9}}, at=60)
        await store.save_notes({}, at=60)
        fixtures.assert_equal(await store.list_notes("d:"), {"d:1": {"value": 7}, "d:2": {"value": 9}})
        fixtures.assert_equal(await store.delete_notes("a:", before=30), 1)
        fixtures.assert_equal(
            [await store.read_note(key) for key in ("a:1", "a:2", "b:1")], [{"value": 3}, None, {"value": 5}]
        )


CHECKS: tuple[fixtures.Check, ...] = (
    blobs_come_back_by_name,
    a_blob_is_durable_with_what_names_it,
    blobs_are_files_for_readers,
    wrong_bytes_behind_a_name_are_noticed,
    the_cache_keeps_the_newest,
    notes_are_kept_by_key,
)
