-- A database that someone else has made: names, defaults and values that would leave their place in the source.
CREATE TABLE "a'
macro_rules! x {}
//" (
    id INTEGER PRIMARY KEY,
    operations TEXT NOT NULL,
    operation TEXT NOT NULL,
    params INTEGER,
    "two
lines" TEXT NOT NULL DEFAULT '"\',
    "left ‮out */ ```" BLOB,
    extra JSON NOT NULL DEFAULT '{"a": "\b", "n": 3000000000, "list": [1.5, null, true]}',
    kind TEXT NOT NULL DEFAULT 'plain' CHECK (kind IN ('plain', 'line
break', '*/ #[test]', ''))
);
CREATE TABLE "`names`
//!" (id INTEGER PRIMARY KEY, name TEXT NOT NULL);
-- Names that the source itself uses.
CREATE TABLE database (id INTEGER PRIMARY KEY, name TEXT);
CREATE TABLE database_rows (id INTEGER PRIMARY KEY, name TEXT);
CREATE TABLE "table" (id INTEGER PRIMARY KEY, name TEXT);
CREATE TABLE run_adapters (id INTEGER PRIMARY KEY, name TEXT);
CREATE TABLE t (id INTEGER PRIMARY KEY, name TEXT);
