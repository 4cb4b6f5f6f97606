-- The bucket avatars: role x verb x own or foreign object, as the Storage server asks after it has become the token's role.
begin;
set local search_path = public, tap, tests;
select * from no_plan();

select sign_up('Anna');
select sign_up('Bert');
select sign_up('Cleo');
select sign_up('Gone');
update auth.users set banned_until = now() + interval '10 years' where id = id('Cleo');
delete from auth.users where id = id('Gone');
insert into storage.buckets (id, name) values ('letters', 'letters');
select upload('avatars', 'anna.jpeg', id('Anna'));
select upload('avatars', id('Anna') || '/second.jpeg', id('Anna'));
select upload('avatars', 'bert.jpeg', id('Bert'));
select upload('avatars', 'cleo.jpeg', id('Cleo'));
select upload('avatars', 'gone.jpeg', id('Gone'));
-- Made with the service key: no owner, though it lies in Anna's folder.
select upload('avatars', id('Anna') || '/served.jpeg', null);
select upload('letters', 'anna.txt', id('Anna'));
-- Deletes here are the Storage server's, which lifts the protection for itself.
select set_config('storage.allow_delete_query', 'true', true);

create temp table before as select id, bucket_id, name, owner, owner_id from storage.objects;
select is((select count(*) from before), 7::bigint, 'the objects that the matrix is about are there');

create temp table matrix (who text, role_name text, claims jsonb, verb text, object text, statement text, expected text);
insert into matrix
select
    who.name, who.role_name, who.claims, verbs.verb, target.bucket || '/' || target.key,
    format(verbs.statement, target.bucket, target.key, id('Bert'), who.sub),
    case
        when who.role_name = 'service_role' then '1 rows'
        when target.bucket <> 'avatars' or who.name <> coalesce(target.owner, '') then '0 rows'
        when verbs.verb = 'give away' then '42501'
        when who.name in ('Cleo', 'Gone') and verbs.verb in ('update', 'rename') then '42501'
        when verbs.verb = 'move to letters' then '42501'
        else '1 rows'
    end
from (
    values
        ('anon', 'anon', null::jsonb, null::uuid),
        ('Anna', 'authenticated', token('Anna'), id('Anna')),
        ('Bert', 'authenticated', token('Bert'), id('Bert')),
        ('Cleo', 'authenticated', token('Cleo'), id('Cleo')),
        ('Gone', 'authenticated', token('Gone'), id('Gone')),
        ('service_role', 'service_role', '{"role": "service_role"}', null)
) as who (name, role_name, claims, sub)
cross join (
    values
        ('select', 'select * from storage.objects where bucket_id = %1$L and name = %2$L'),
        ('update', 'update storage.objects set metadata = ''{}'' where bucket_id = %1$L and name = %2$L'),
        ('rename', 'update storage.objects set name = ''new.jpeg'' where bucket_id = %1$L and name = %2$L'),
        (
            'give away',
            'update storage.objects set owner = %3$L, owner_id = %3$L where bucket_id = %1$L and name = %2$L '
            'and owner_id is distinct from %3$L'
        ),
        (
            'move to letters',
            'update storage.objects set bucket_id = ''letters'', name = ''x'' where bucket_id = %1$L and name = %2$L'
        ),
        ('delete', 'delete from storage.objects where bucket_id = %1$L and name = %2$L')
) as verbs (verb, statement)
cross join (
    values
        ('avatars', 'anna.jpeg', 'Anna'),
        ('avatars', id('Anna') || '/second.jpeg', 'Anna'),
        ('avatars', 'bert.jpeg', 'Bert'),
        ('avatars', 'cleo.jpeg', 'Cleo'),
        ('avatars', 'gone.jpeg', 'Gone'),
        ('avatars', id('Anna') || '/served.jpeg', null),
        ('letters', 'anna.txt', 'Anna')
) as target (bucket, key, owner)
-- Bert cannot give his object to himself.
where not (verbs.verb = 'give away' and target.owner = 'Bert');

insert into matrix
select
    who.name, who.role_name, who.claims, 'upload as ' || coalesce(uploader.name, 'nobody') || returning_clause, bucket,
    format(
        'insert into storage.objects (bucket_id, name, owner, owner_id, version) values (%L, ''up.jpeg'', %L, %L, ''1'')',
        bucket, id(uploader.name), id(uploader.name)
    ) || returning_clause,
    case
        when who.role_name = 'service_role' then '1 rows'
        when bucket = 'avatars' and who.name = coalesce(uploader.name, '') and who.name in ('Anna', 'Bert') then '1 rows'
        else '42501'
    end
from (
    values
        ('anon', 'anon', null::jsonb),
        ('Anna', 'authenticated', token('Anna')),
        ('Bert', 'authenticated', token('Bert')),
        ('Cleo', 'authenticated', token('Cleo')),
        ('Gone', 'authenticated', token('Gone')),
        ('service_role', 'service_role', '{"role": "service_role"}')
) as who (name, role_name, claims)
cross join (values ('Anna'), ('Bert'), ('Cleo'), ('Gone'), (null)) as uploader (name)
cross join (values ('avatars'), ('letters')) as target (bucket)
-- Without it the policy for reading has no say.
cross join (values (''), (' returning *')) as clauses (returning_clause);

insert into matrix
values
    -- Statements that read no column: the policy for reading has no say in them.
    (
        'Anna', 'authenticated', token('Anna'), 'give away', 'blindly',
        format('update storage.objects set owner_id = %L', id('Bert')), '42501'
    ),
    (
        'Bert', 'authenticated', token('Bert'), 'move to letters', 'blindly',
        'update storage.objects set bucket_id = ''letters'', name = ''x''', '42501'
    ),
    ('Anna', 'authenticated', token('Anna'), 'update', 'blindly', 'update storage.objects set metadata = ''{}''', '2 rows'),
    ('Bert', 'authenticated', token('Bert'), 'update', 'blindly', 'update storage.objects set metadata = ''{}''', '1 rows'),
    ('Bert', 'authenticated', token('Bert'), 'delete', 'blindly', 'delete from storage.objects', '1 rows'),
    ('anon', 'anon', null, 'update', 'blindly', 'update storage.objects set metadata = ''{}''', '0 rows'),
    ('anon', 'anon', null, 'delete', 'blindly', 'delete from storage.objects', '0 rows'),
    -- The server's upload with upsert.
    (
        'Anna', 'authenticated', token('Anna'), 'upsert', 'her own',
        format(
            'insert into storage.objects (bucket_id, name, owner, owner_id, version) '
            'values (''avatars'', ''anna.jpeg'', %1$L, %1$L, ''2'') '
            'on conflict (bucket_id, name collate "C") where archived_at is null '
            'do update set version = excluded.version, owner_id = excluded.owner_id '
            'returning *', id('Anna')
        ), '1 rows'
    ),
    (
        'Bert', 'authenticated', token('Bert'), 'upsert', 'Anna''s',
        format(
            'insert into storage.objects (bucket_id, name, owner, owner_id, version) '
            'values (''avatars'', ''anna.jpeg'', %1$L, %1$L, ''2'') '
            'on conflict (bucket_id, name collate "C") where archived_at is null '
            'do update set version = excluded.version, owner_id = excluded.owner_id '
            'returning *', id('Bert')
        ), '42501'
    ),
    ('Anna', 'authenticated', token('Anna'), 'list', 'all', 'select * from storage.objects', '2 rows'),
    ('anon', 'anon', null, 'list', 'all', 'select * from storage.objects', '0 rows'),
    ('nobody', 'authenticated', null, 'list', 'all', 'select * from storage.objects', '0 rows'),
    ('nobody', 'authenticated', '{"sub": null}', 'delete', 'all', 'delete from storage.objects', '0 rows'),
    (
        'Anna', 'authenticated', token('Anna'), 'delete', 'all', 'delete from storage.objects', '2 rows'
    ),
    (
        'Anna', 'authenticated', token('Anna'), 'change', 'the bucket',
        'update storage.buckets set public = true where id = ''avatars''', '0 rows'
    ),
    (
        'nobody', 'authenticated', '{"role": "authenticated"}', 'upload as nobody', 'avatars',
        'insert into storage.objects (bucket_id, name, version) values (''avatars'', ''up.jpeg'', ''1'')', '42501'
    );

select is(probe(role_name, claims, statement), expected, format('%s may %s %s: %s', who, verb, object, expected))
from matrix
order by who, verb, object;

select results_eq(
    'select id, bucket_id, name, owner, owner_id from storage.objects order by id', 'select * from before order by id',
    'no object has changed'
);
select is(
    (select row(public, file_size_limit)::text from storage.buckets where id = 'avatars'), '(f,)',
    'the bucket is private, without a size limit'
);

-- Writes to other buckets are their own affair: the lock-out of avatars does not reach them.
create policy letters_for_all on storage.objects for all to authenticated
    using (bucket_id = 'letters') with check (bucket_id = 'letters');
select is(
    probe(
        'authenticated', token('Cleo'),
        'insert into storage.objects (bucket_id, name, version) values (''letters'', ''cleo.txt'', ''1'')'
    ),
    '1 rows', 'a banned account is held off avatars, not off buckets that the app rules itself'
);

select * from finish();
rollback;
