INSERT INTO jobs (payload) SELECT repeat('x', 1024) FROM generate_series(1, :batch);
