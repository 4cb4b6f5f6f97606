-- What the tests in the folder above share. deploy/pgtap installs it in the schema `tests` of its own database.

create schema tests;
create schema tap;
create extension pgtap schema tap;

-- Signs somebody up as the Auth server does: as its own role, which has no rights in public. The id is made from the name,
-- so that tests and their failures read the same on every run.
create function tests.sign_up(name text, meta jsonb default '{}', anonymous boolean default false)
returns uuid
language plpgsql
as $$
declare
    account constant uuid := tests.id(name);
begin
    perform set_config('role', 'supabase_auth_admin', true);
    insert into auth.users (
        instance_id, id, aud, role, email, raw_app_meta_data, raw_user_meta_data, created_at, updated_at, is_anonymous
    )
    values (
        '00000000-0000-0000-0000-000000000000', account, 'authenticated', 'authenticated',
        case when anonymous then null else lower(name) || '@example.com' end,
        '{"provider": "apple", "providers": ["apple"]}', meta, now(), now(), anonymous
    );
    insert into auth.sessions (id, user_id, aal, created_at, updated_at)
    values (md5(name || ' session')::uuid, account, 'aal1', now(), now());
    perform set_config('role', 'none', true);
    return account;
end
$$;

create function tests.id(name text)
returns uuid
language sql
immutable
as $$
    select md5(name)::uuid
$$;

-- The claims of an access token of that account.
create function tests.token(name text, more jsonb default '{}')
returns jsonb
language sql
stable
as $$
    select jsonb_build_object(
        'sub', tests.id(name),
        'role', 'authenticated',
        'aud', 'authenticated',
        'email', lower(name) || '@example.com',
        'session_id', md5(name || ' session')::uuid,
        'is_anonymous', false,
        'exp', extract(epoch from now() + interval '1 hour')::bigint
    ) || more
$$;

-- Runs one statement as PostgREST would: as the role, with the token's claims. Returns how many rows it touched or read, or
-- the SQLSTATE it failed with, and takes back whatever it did.
create function tests.probe(role_name text, claims jsonb, statement text)
returns text
language plpgsql
as $$
declare
    touched bigint;
begin
    begin
        perform set_config('request.jwt.claims', coalesce(claims::text, ''), true);
        perform set_config('role', role_name, true);
        execute statement;
        get diagnostics touched = row_count;
        perform set_config('role', 'none', true);
        raise exception using errcode = 'TP000';
    exception
        -- Leaving the block takes the role and the claims back, too.
        when sqlstate 'TP000' then return touched || ' rows';
        when others then return sqlstate;
    end;
end
$$;

-- As probe, but what it did stays, and a failure is passed on.
create function tests.act(role_name text, claims jsonb, statement text)
returns bigint
language plpgsql
as $$
declare
    touched bigint;
begin
    perform set_config('request.jwt.claims', coalesce(claims::text, ''), true);
    perform set_config('role', role_name, true);
    execute statement;
    get diagnostics touched = row_count;
    perform set_config('role', 'none', true);
    perform set_config('request.jwt.claims', '', true);
    return touched;
end
$$;

-- As probe, for a query of one value; the value as text.
create function tests.answer(role_name text, claims jsonb, query text)
returns text
language plpgsql
as $$
declare
    value text;
begin
    begin
        perform set_config('request.jwt.claims', coalesce(claims::text, ''), true);
        perform set_config('role', role_name, true);
        execute query into value;
        perform set_config('role', 'none', true);
        raise exception using errcode = 'TP000';
    exception
        when sqlstate 'TP000' then return value;
        when others then return sqlstate;
    end;
end
$$;

-- An object as the Storage server stores it for that uploader.
create function tests.upload(bucket text, key text, owner uuid)
returns void
language sql
as $$
    insert into storage.objects (bucket_id, name, owner, owner_id, version, metadata)
    values (bucket, key, owner, owner::text, '1', '{"mimetype": "image/jpeg", "size": 1}')
$$;

\ir tables.sql
