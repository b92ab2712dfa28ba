-- What stands in the way of widening. The query goes on from type_obstacles.sql.
SELECT sqlstate, object, message, detail, hint
FROM (SELECT * FROM common_obstacles UNION ALL SELECT * FROM type_obstacles) AS obstacles
ORDER BY rank, message
