-- What stands in the way of another type of keys, whatever is to become of them. The query goes on from
-- obstacles.sql.
,
-- a row: a reason why columns cannot become bigint, as in common_obstacles.
type_obstacles AS (
    SELECT 5, '42P16', relation_name,
           format('column %s of table %s is a generated column', column_name, relation_name),
           'It takes no default.', NULL
    FROM target
    WHERE generated <> ''
    UNION ALL
    SELECT 5, '42P16', relation_name,
           format('column %s of table %s refers to table %s', column_name, relation_name, other::regclass),
           format('By foreign key %I, its values are those of that table.', referring.name),
           format('Convert the key of %s: this column then becomes bigint too.', other::regclass)
    FROM target
    JOIN referring USING (relation, number)
    UNION ALL
    SELECT 6, '42804', relation_name,
           format('column %s of table %s has type %s', column_name, relation_name, type_name),
           'What can be converted is smallint, integer and bigint.', NULL
    FROM target
    WHERE type NOT IN ('smallint'::regtype, 'integer'::regtype, 'bigint'::regtype)
    UNION ALL
    SELECT 7, '42804', relation_name,
           format('column %s of table %s has type %s', column_name, relation_name, type_name),
           'A foreign key refers to the column that is to be converted, and the type '
           'might not hold its new values.',
           'Change the type to bigint first.'
    FROM columns
    WHERE NOT in_family AND type NOT IN ('smallint'::regtype, 'integer'::regtype, 'bigint'::regtype)
    UNION ALL
    SELECT 9, '42809', relation_name,
           format('cannot change the type of column %s of table %s', column_name, relation_name),
           'The table is of a composite type.', NULL
    FROM retyped
    WHERE of_type <> 0
    UNION ALL
    SELECT 9, '42809', relation_name,
           format('cannot change the type of column %s of foreign table %s', column_name, relation_name),
           'The table on the other server would keep its type.',
           'Change the type there, and then here, first.'
    FROM retyped
    WHERE kind = 'f'
    UNION ALL
    SELECT 9, '42809', relation_name,
           format('cannot convert column %s of table %s', column_name, relation_name),
           format('The table belongs to extension %I.', extname), NULL
    FROM (SELECT * FROM target UNION SELECT * FROM retyped) AS changed
    JOIN pg_depend AS p ON (p.classid, p.objid, p.deptype) = ('pg_class'::regclass, relation, 'e')
    JOIN pg_extension AS e ON (p.refclassid, p.refobjid) = ('pg_extension'::regclass, e.oid)
    UNION ALL
    SELECT 10, '2BP01', relation_name,
           format('cannot change the type of column %s of table %s', column_name, relation_name),
           format('What depends on it: %s.', all_of_them),
           CASE
               WHEN can_be_created
                   THEN 'Use dependents => ''recreate'', or drop that, convert the '
                        'column, and create it again.'
               ELSE 'Drop that, convert the column, and create it again.'
           END
    FROM retyped
    JOIN dependents_of USING (relation, number)
    UNION ALL
    SELECT 10, '2BP01', relation_name,
           format('cannot change the type of column %s of table %s', column_name, relation_name),
           format(
               'Index %s uses operator class %I of access method %I, which does not take bigint.',
               indexrelid::regclass, opcname, amname),
           'Drop the index, convert the column, and create another.'
    FROM retyped AS r,
         LATERAL (SELECT * FROM pg_index WHERE indrelid = relation OFFSET 0) AS index,
         LATERAL (SELECT FROM pg_class WHERE oid = indexrelid AND NOT relispartition OFFSET 0) AS is_root,
         LATERAL unnest(indkey::int2[], indclass::oid[]) AS part (number, class)
    JOIN narrow_classes USING (class)
    JOIN pg_opclass AS o ON o.oid = class
    JOIN pg_am ON pg_am.oid = opcmethod
    WHERE part.number = r.number
)
