CREATE TYPE order_status AS ENUM ('draft', 'open', 'in-transit', 'delivered');
CREATE TABLE customers (
    customer_id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name text NOT NULL CHECK (name <> ''),
    email varchar(120) UNIQUE,
    country char(2) NOT NULL DEFAULT 'DE',
    "createdAt" timestamptz NOT NULL DEFAULT now()
);
COMMENT ON TABLE customers IS 'A person or company that orders.';
COMMENT ON COLUMN customers.name IS 'Full name.';
CREATE TABLE orders (
    id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    customer_id bigint NOT NULL REFERENCES customers,
    status order_status NOT NULL DEFAULT 'draft',
    kind text NOT NULL CHECK (kind IN ('retail', 'wholesale')),
    quantity smallint NOT NULL CHECK (quantity > 0 AND quantity <= 500),
    price numeric(10, 2) CHECK (price >= 0),
    paid boolean NOT NULL DEFAULT false,
    tags text[] NOT NULL DEFAULT '{}',
    note text CHECK (length(note) <= 500),
    extra jsonb NOT NULL DEFAULT '{}',
    wanted date,
    placed timestamp NOT NULL DEFAULT now()
);
COMMENT ON COLUMN orders.quantity IS 'Number of pieces.';
CREATE TABLE order_items (order_id uuid REFERENCES orders, place int, PRIMARY KEY (order_id, place));
CREATE TABLE countries (code char(2) PRIMARY KEY, name text NOT NULL, flag bytea);
INSERT INTO countries VALUES ('DE', 'Germany');
