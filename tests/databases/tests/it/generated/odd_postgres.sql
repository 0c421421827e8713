CREATE TYPE empty AS ENUM ();
CREATE TYPE odd AS ENUM ('', '1st', 'Self', 'in transit', 'In-Transit');
CREATE DOMAIN percent AS smallint CHECK (VALUE BETWEEN 0 AND 100);
CREATE TABLE t1 (id bigserial PRIMARY KEY, name text NOT NULL);
CREATE TABLE t2 (id bigserial PRIMARY KEY, name text NOT NULL);
CREATE TABLE options (id serial PRIMARY KEY, "value" text, "self" int, "super" int, "crate" int, "type" odd);
CREATE TABLE "values" (id uuid PRIMARY KEY, operation text NOT NULL, params text, "and" int, "or" int, "not" boolean);
CREATE TABLE adapter (
    id serial PRIMARY KEY, "UPPER" int, upper int, "a-b" int, "a b" int, "ID" text, _ int, "日本" int,
    filter text, sort int, "größe" int
);
CREATE SCHEMA "o'ther
";
CREATE TABLE "o'ther
".main (id serial PRIMARY KEY);
CREATE TABLE main (id serial PRIMARY KEY, main int, other_id int REFERENCES "o'ther
".main);
CREATE TABLE details (main_id int PRIMARY KEY REFERENCES main, note text);
CREATE TABLE orders (
    id serial PRIMARY KEY, filter text CHECK (filter IN ('a', 'b')), item_status text CHECK (item_status IN ('a', 'b'))
);
CREATE TABLE amounts (amount numeric PRIMARY KEY);
CREATE TABLE truths (truth boolean PRIMARY KEY);
CREATE TABLE codes (code varchar(2) PRIMARY KEY, name text);
CREATE TABLE order_items (
    id serial PRIMARY KEY,
    status text CHECK (status IN ('open', 'closed')),
    amount numeric REFERENCES amounts,
    truth boolean REFERENCES truths,
    code varchar(2) CHECK (code IN ('de', 'fr')) REFERENCES codes,
    wide smallint NOT NULL DEFAULT 99999,
    far int NOT NULL DEFAULT 3000000000,
    one int CHECK (one > 5 AND one < 7),
    none int CHECK (none > 5 AND none < 6),
    level bigint NOT NULL DEFAULT 3 CHECK (level IN (9223372036854775808, 1))
);
CREATE TABLE order_filter (id serial PRIMARY KEY, owner int REFERENCES orders, owner_id int REFERENCES orders);
CREATE TABLE order_update (
    id serial PRIMARY KEY,
    share double precision NOT NULL DEFAULT 'NaN',
    low smallint NOT NULL DEFAULT 0 CHECK (low BETWEEN 1 AND 5),
    long varchar(5) NOT NULL DEFAULT 'toolong',
    never int CHECK (never > 5 AND never < 3),
    draft text DEFAULT 'draft',
    since date NOT NULL DEFAULT '2020-01-01',
    pair text[] NOT NULL DEFAULT '{a,b}',
    clock timestamptz NOT NULL DEFAULT clock_timestamp(),
    nothing empty,
    bits bit(3),
    part percent NOT NULL DEFAULT 5,
    twice int GENERATED ALWAYS AS (low * 2) STORED
);
COMMENT ON TABLE order_update IS E' \u202E*/ "\\" \r\nsecond line ';
COMMENT ON COLUMN order_update.low IS E'\r ';
CREATE TABLE parted (id bigint, day date, PRIMARY KEY (id)) PARTITION BY RANGE (id);
CREATE TABLE parted_1 PARTITION OF parted FOR VALUES FROM (0) TO (100);
CREATE VIEW seen AS SELECT * FROM t1;
