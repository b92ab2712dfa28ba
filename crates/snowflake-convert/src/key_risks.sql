-- What there is to say of keys in general. The query goes on from keys.sql. $12 and $13 are the times of
-- the IDs 1 and 2^53.
,
-- a row: a risk of all keys together.
key_risks(rank, reason, remedy) AS (
    SELECT 15,
           format(
               'snowflake_convert() converts these keys only if their columns are named, since they do not '
               'take values of a sequence: %s.',
               string_agg(format('%s.%s', relation_name, column_name), ', ' ORDER BY relation_name)),
           'Name the table and the column of those that are to be converted.'
    FROM target
    WHERE is_passed_over AND NOT takes_ids
    HAVING count(*) > 0
    UNION ALL
    SELECT 16,
           format(
               'Keys below %s have no time: of all rows that are there, snowflake_timestamp() and '
               'snowflake_within() say that they are of %s or soon after.',
               $5, ($12::timestamptz AT TIME ZONE 'UTC')::date),
           'Read the times of these rows from another column.'
    WHERE EXISTS (SELECT FROM target WHERE NOT takes_ids AND NOT is_passed_over)
    UNION ALL
    SELECT 17,
           format(
               'Django migrates this schema, and its models of these tables have keys of 32 bits: %s. Once '
               'these are converted, the next migrate ends in "DataError: integer out of range".',
               string_agg(DISTINCT relation_name, ', ' ORDER BY relation_name)),
           'Convert your own tables by name, and change their models. Those of auth, contenttypes and other '
           'applications that you do not write stay as they are.'
    FROM target
    WHERE is_integer AND to_regclass($3::text || '.django_migrations') IS NOT NULL
    HAVING count(*) > 0
    UNION ALL
    SELECT 18,
           format(
               'IDs exceed 2^53%s: what reads numbers as doubles, such as JavaScript, pandas, spreadsheets '
               'and jq, rounds them.',
               CASE WHEN $13 > now() THEN format(' from %s on', ($13 AT TIME ZONE 'UTC')::date) END),
           'Pass them as text, or choose a layout whose IDs fit into 53 bits before the first ID.'
    -- Nobody has to care about a time that is as far away as this.
    WHERE $13::timestamptz < now() + interval '20 years' AND EXISTS (SELECT FROM target)
)
