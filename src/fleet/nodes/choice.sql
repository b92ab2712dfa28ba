-- The identity for a node that has none: the one that it had last; else the first that nobody has
-- had; else the one that was released with the earliest floor.
--
-- $1 is the node's name; $2 a datacenter and $3 a worker, or NULL for any; $4 the last datacenter
-- and $5 the last worker that there can be; $6 and $7 the identity of this server, or NULL. Nobody is
-- given that one without asking for it by both numbers, and after its release nobody but the node that
-- had it. An identity that nobody has had is the first of all, or comes next to one that somebody has
-- had: the next worker, or the next datacenter.
SELECT chosen.*
FROM (
    WITH
    -- a row: an identity that a node has or had, or that of this server.
    known (datacenter_id, worker_id) AS (
        SELECT c.datacenter_id, c.worker_id FROM claims AS c
        UNION
        SELECT $6, $7 WHERE $2 IS NULL OR $3 IS NULL
    ),

    -- a row: a claim that was released and can be given again, with the numbers that are asked for.
    released AS (
        SELECT c.*
        FROM claims AS c
        WHERE c.released_at IS NOT NULL
          AND c.datacenter_id <= $4
          AND c.worker_id <= $5
          AND c.datacenter_id = coalesce($2, c.datacenter_id)
          AND c.worker_id = coalesce($3, c.worker_id)
    ),

    -- a row: an identity that might be the first one to give out: nobody has had it, and it is allowed.
    candidates (datacenter_id, worker_id) AS (
        SELECT coalesce($2, 0), coalesce($3, 0)
        UNION ALL
        SELECT c.datacenter_id, c.worker_id + 1
        FROM known AS c
        WHERE $3 IS NULL AND c.worker_id < $5 AND c.datacenter_id = coalesce($2, c.datacenter_id)
        UNION ALL
        SELECT c.datacenter_id + 1, coalesce($3, 0)
        FROM known AS c
        WHERE $2 IS NULL AND c.datacenter_id < $4
    )

    (
        SELECT r.datacenter_id, r.worker_id
        FROM released AS r
        WHERE r.name = $1
        ORDER BY r.released_at DESC
        LIMIT 1
    )
    UNION ALL
    (
        SELECT n.datacenter_id, n.worker_id
        FROM candidates AS n
        WHERE n.datacenter_id <= $4
          AND NOT EXISTS (
              SELECT FROM known AS c WHERE c.datacenter_id = n.datacenter_id AND c.worker_id = n.worker_id
          )
        ORDER BY n.datacenter_id, n.worker_id
        LIMIT 1
    )
    UNION ALL
    (
        SELECT r.datacenter_id, r.worker_id
        FROM released AS r
        WHERE (r.datacenter_id, r.worker_id) IS DISTINCT FROM ($6, $7)
        ORDER BY r.start_after
        LIMIT 1
    )
    LIMIT 1
) AS chosen
