"""An adapter for bookmarks in memory. `protocol.py` contains what every adapter needs."""

import asyncio
import secrets
from datetime import datetime, timezone

from protocol import Failure, field, invalid, object_type, operation, serve

URL = field("url", "string", "The address.", required=True, minLength=1, maxLength=2000)
TITLE = field("title", "string", "The title.", required=True, minLength=1, maxLength=200)
RATING = field("rating", "integer", "From 1 (poor) to 5 (excellent).", minimum=1, maximum=5, default=3)
TAGS = field("tags", "array", "Labels, in the given order.", items={"type": "string"}, default=[])
NOTE = field("note", "string", "A remark.", maxLength=5000)
SOURCE = field("source", "Source", "The origin of the bookmark.")
ID = field("bookmark_id", "string", "The bookmark.", required=True, minLength=1, maxLength=40)
CREATED = field("created_at", "string", "When it was created.", required=True, format="date-time")

PRESETS = {
    "minimal": ["bookmark_id", "title"],
    "standard": ["bookmark_id", "title", "url", "rating", "tags"],
    "full": ["bookmark_id", "title", "url", "rating", "tags", "note", "source", "created_at"],
}
PATHS = [*PRESETS["full"], "source.author", "source.language"]
FIELDS = field("fields", "string or array", f"minimal, standard, full, or a list of paths: {', '.join(PATHS)}.",
               items={"type": "string"})

object_type("Bookmark", "A bookmark.", [ID, URL, TITLE, RATING, TAGS, NOTE, SOURCE, CREATED])
object_type("Source", "The origin of a bookmark.", [
    field("author", "string", "The author.", maxLength=200),
    field("language", "string", "A code such as en.", maxLength=10)])
object_type("BookmarkList", "Bookmarks.", [
    field("items", "array", "The bookmarks, the oldest first.", required=True, items={"type": "Bookmark"})])
object_type("BookmarkChanges", "Fields to change.", [URL, TITLE, RATING, TAGS, NOTE, SOURCE], is_partial=True)
object_type("BookmarkFilter", "Values that must be equal.", [URL, TITLE, RATING], is_partial=True)
object_type("Deleted", "A deleted bookmark.", [ID])

BOOKMARKS = {}


def stored(bookmark_id):
    if bookmark_id not in BOOKMARKS:
        raise Failure("NOT_FOUND_RESOURCE", f"Resource 'bookmark' not found: '{bookmark_id}'",
                      resource_type="bookmark", resource_id=bookmark_id)
    return BOOKMARKS[bookmark_id]


@operation("CREATE", "Create a bookmark.", [URL, TITLE, RATING, TAGS, NOTE, SOURCE], "Bookmark",
           example={"url": "https://example.org", "title": "Example", "source": {"author": "Ada", "language": "en"}})
def create_bookmark(**values):
    bookmark_id = f"b-{secrets.token_hex(4)}"
    now = datetime.now(timezone.utc).isoformat().replace("+00:00", "Z")
    BOOKMARKS[bookmark_id] = {"bookmark_id": bookmark_id, **values, "created_at": now}
    return {"bookmark": BOOKMARKS[bookmark_id]}


@operation("READ", "Get one bookmark.", [ID, FIELDS], "Bookmark", example={"bookmark_id": "b-1"})
def get_bookmark(bookmark_id, fields="full"):
    return {"bookmark": select(stored(bookmark_id), paths_of(fields))}


@operation("READ", "List all bookmarks, the oldest first.",
           [field("filter", "BookmarkFilter", "Conditions that must all hold."), FIELDS], "BookmarkList",
           example={"filter": {"rating": 5}, "fields": ["title", "source.author"]})
def list_bookmarks(filter={}, fields="standard"):
    paths = paths_of(fields)
    found = [it for it in BOOKMARKS.values() if all(it[name] == value for name, value in filter.items())]
    return {"items": [select(it, paths) for it in found]}


@operation("UPDATE", "Change fields of a bookmark. Fields that `input` omits stay unchanged; null removes one.",
           [ID, field("input", "BookmarkChanges", "Fields to change.", required=True)], "Bookmark",
           example={"bookmark_id": "b-1", "input": {"title": "New", "note": None}})
def update_bookmark(bookmark_id, input):
    BOOKMARKS[bookmark_id] = merge(stored(bookmark_id), input)
    return {"bookmark": BOOKMARKS[bookmark_id]}


@operation("DELETE", "Delete a bookmark.", [ID], "Deleted", example={"bookmark_id": "b-1"})
def delete_bookmark(bookmark_id):
    del BOOKMARKS[stored(bookmark_id)["bookmark_id"]]
    return {"bookmark_id": bookmark_id}


def merge(old, changes):
    merged = dict(old)
    for name, value in changes.items():
        merged[name] = merge(merged.get(name, {}), value) if isinstance(value, dict) else value
    return {name: value for name, value in merged.items() if value is not None}


def paths_of(fields):
    paths = PRESETS.get(fields) if isinstance(fields, str) else fields
    if paths is None or not set(paths) <= set(PATHS):
        raise invalid("fields", f"must be one of {', '.join(PRESETS)}, or a list of: {', '.join(PATHS)}")
    return paths


def select(bookmark, paths):
    """Returns these fields. Fields that the bookmark does not have are left out."""
    selected = {}
    for path in paths:
        name, _, inner = path.partition(".")
        if not inner and name in bookmark:
            selected[name] = bookmark[name]
        elif inner in bookmark.get(name, {}):
            selected.setdefault(name, {})[inner] = bookmark[name][inner]
    return selected


if __name__ == "__main__":
    asyncio.run(serve("bookmarks", "0.1.0"))
