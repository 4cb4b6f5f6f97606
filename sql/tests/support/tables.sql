-- What the files tables_*.sql say of the tables of accountctl: a row of what each needs and what it fills in itself, the
-- changes to that row that a constraint refuses, and those that it refuses beside the row.
create table tests.valid (relation text, required jsonb, besides jsonb, filled jsonb);
create table tests.refused (relation text, changes jsonb, by text);
create table tests.refused_beside (relation text, changes jsonb, by text);

-- Inserts the columns that are given; the others get their defaults.
create function tests.insert_row(relation text, given jsonb)
returns jsonb
language plpgsql
as $$
declare
    stored jsonb;
begin
    execute format(
        'insert into accountctl.%1$I as stored (%2$s) overriding system value '
        'select %2$s from jsonb_populate_record(null::accountctl.%1$I, $1) returning to_jsonb(stored)',
        relation, (select string_agg(quote_ident(name), ', ') from jsonb_object_keys(given) as name)
    ) into stored using given;
    return stored;
end
$$;

-- The constraint that refuses a row, or the column that may not be null, or `nothing`. Takes back whatever it did.
create function tests.refused_by(relation text, given jsonb)
returns text
language plpgsql
as $$
declare
    name text;
    column_name text;
begin
    begin
        perform tests.insert_row(relation, given);
        raise exception using errcode = 'TP000';
    exception
        when sqlstate 'TP000' then return 'nothing';
        when others then
            get stacked diagnostics name = constraint_name, column_name = column_name;
            return coalesce(nullif(name, ''), nullif(column_name, ''), sqlstate);
    end;
end
$$;

-- What a stored row has beside what was given, with times as their distance from now and without the ids that were drawn.
create function tests.filled_in(stored jsonb, given jsonb)
returns jsonb
language sql
stable
as $$
    select coalesce(
        jsonb_object_agg(
            name,
            case
                when value #>> '{}' ~ '^\d{4}-\d\d-\d\dT'
                    then to_jsonb(date_trunc('minute', (value #>> '{}')::timestamptz - now())::text)
                when value #>> '{}' ~ '^[0-9a-f]{8}-' then to_jsonb('a uuid'::text)
                else value
            end
        ),
        '{}'
    )
    from jsonb_each(stored) as member (name, value)
    where not given ? name
      and name not in ('id', 'number')
      and value <> 'null'
$$;

create function tests.check_tables()
returns setof text
language plpgsql
as $$
declare
    valid tests.valid;
begin
    return query
    select tap.is(tests.refused_by(relation, required || besides), 'nothing', relation || ' takes what it needs')
    from tests.valid as v;
    return query
    select tap.is(
        tests.refused_by(relation, required || besides || jsonb_build_object(name, null)), name,
        format('%s needs %s', relation, name)
    )
    from tests.valid as v
    cross join jsonb_object_keys(required || filled) as name;
    return query
    select tap.is(
        array(
            select c.conname
            from pg_constraint as c
            where c.conrelid = format('accountctl.%I', relation)::regclass and c.contype in ('c', 'f')
            union
            -- A generated row number is never the same twice, so no row can be refused by its index.
            select c.relname
            from pg_index as i
            join pg_class as c on c.oid = i.indexrelid
            join pg_attribute as a on a.attrelid = i.indrelid and a.attnum = i.indkey[0]
            where i.indrelid = format('accountctl.%I', relation)::regclass
              and i.indisunique
              and not (i.indisprimary and a.attidentity <> '')
            except
            select by from (table tests.refused union all table tests.refused_beside) as r where r.relation = v.relation
        ),
        '{}', 'every constraint of ' || relation || ' has a row that it refuses'
    )
    from tests.valid as v;
    return query
    select tap.is(tests.refused_by(relation, required || besides || changes), by, format('%s with %s', relation, changes))
    from tests.refused
    join tests.valid as v using (relation);
    for valid in select * from tests.valid loop
        return next tap.is(
            tests.filled_in(tests.insert_row(valid.relation, valid.required || valid.besides), valid.required || valid.besides),
            valid.filled, valid.relation || ' fills in what is not given'
        );
    end loop;
    return query
    select tap.is(
        tests.refused_by(relation, required || besides || changes), by,
        format('a second row of %s, with %s', relation, changes)
    )
    from tests.refused_beside
    join tests.valid as v using (relation);
end
$$;
