CREATE TABLE customers (
    customer_id INTEGER PRIMARY KEY,
    name TEXT NOT NULL CHECK (name <> ''),
    email VARCHAR(120) UNIQUE,
    "createdAt" DATETIME NOT NULL DEFAULT CURRENT_TIMESTAMP
);
CREATE TABLE orders (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    customer_id INTEGER NOT NULL REFERENCES customers,
    status TEXT NOT NULL DEFAULT 'draft' CHECK (status IN ('draft', 'open', 'in-transit', 'Delivered')),
    quantity INTEGER NOT NULL,
    price DECIMAL(10, 2) CHECK (price BETWEEN 0 AND 1e6),
    paid BOOLEAN NOT NULL DEFAULT FALSE,
    extra JSON NOT NULL DEFAULT '{}',
    wanted DATE,
    type TEXT,
    row_version INTEGER NOT NULL DEFAULT 1,
    CHECK (quantity > 0 AND quantity < 500)
);
CREATE TABLE photos (
    photo_id INTEGER PRIMARY KEY,
    order_id INTEGER NOT NULL REFERENCES orders,
    picture BLOB NOT NULL,
    title TEXT
);
CREATE TABLE order_items (order_id INTEGER REFERENCES orders, place INTEGER, PRIMARY KEY (order_id, place));
