WITH t AS (SELECT id FROM jobs WHERE state = 0 ORDER BY id LIMIT :batch FOR UPDATE SKIP LOCKED), u AS (UPDATE jobs SET state = 1 FROM t WHERE jobs.id = t.id RETURNING jobs.id, payload) SELECT coalesce(string_agg(id::text, ','), '0') AS ids, count(payload) AS n FROM u \gset
DELETE FROM jobs WHERE id = ANY (string_to_array(:ids, ',')::bigint[]);
