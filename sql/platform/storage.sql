-- The `storage` schema: read by database.sql.

create schema storage authorization supabase_admin;
grant all on schema storage to supabase_storage_admin;
grant usage on schema storage to anon, authenticated, service_role;
grant usage on schema storage to postgres with grant option;

-- The tables belong to the Storage server's own role.
set role supabase_storage_admin;
set search_path = storage;

create type storage.buckettype as enum ('STANDARD', 'ANALYTICS', 'VECTOR');

create table storage.buckets (
    id text not null constraint buckets_pkey primary key,
    name text not null,
    owner uuid,
    created_at timestamptz default now(),
    updated_at timestamptz default now(),
    public boolean default false,
    avif_autodetection boolean default false,
    file_size_limit bigint,
    allowed_mime_types text[],
    owner_id text,
    type storage.buckettype not null default 'STANDARD',
    versioning_status text not null default 'DISABLED',
    constraint buckets_versioning_status_check
        check (versioning_status in ('DISABLED', 'ENABLED', 'SUSPENDED')),
    constraint buckets_versioning_standard_only_check check (type = 'STANDARD' or versioning_status = 'DISABLED')
);
create unique index bname on storage.buckets (name);

-- `owner` is deprecated; `owner_id` is a text, the `sub` of the token that uploaded. Neither has a foreign key or an index,
-- and both are empty for files uploaded with the service key.
--
-- In a bucket that keeps versions, a key has a row for each version. Replaced and deleted versions are archived, a delete
-- adds a row that marks it, and at most one row of a key is not archived.
create table storage.objects (
    id uuid not null default gen_random_uuid() constraint objects_pkey primary key,
    bucket_id text constraint "objects_bucketId_fkey" references storage.buckets (id),
    name text,
    owner uuid,
    created_at timestamptz default now(),
    updated_at timestamptz default now(),
    last_accessed_at timestamptz default now(),
    metadata jsonb,
    path_tokens text[] generated always as (string_to_array(name, '/')) stored,
    version text,
    owner_id text,
    user_metadata jsonb,
    archived_at timestamptz,
    is_delete_marker boolean not null default false,
    is_versioned boolean not null default false
);
create unique index objects_bucket_id_name_version_key
    on storage.objects (bucket_id, name collate "C", version) nulls not distinct;
create unique index idx_objects_current_version
    on storage.objects (bucket_id, name collate "C")
    where archived_at is null;
create unique index idx_objects_null_version on storage.objects (bucket_id, name collate "C") where not is_versioned;
create index idx_objects_delete_markers on storage.objects (bucket_id, name collate "C") where is_delete_marker;
create index idx_objects_bucket_id_name on storage.objects (bucket_id, name collate "C");
create index idx_objects_bucket_id_name_lower on storage.objects (bucket_id, lower(name) collate "C");
create index name_prefix_search on storage.objects (name text_pattern_ops);

create table storage.s3_multipart_uploads (
    id text not null constraint s3_multipart_uploads_pkey primary key,
    in_progress_size bigint not null default 0,
    upload_signature text not null,
    bucket_id text not null constraint s3_multipart_uploads_bucket_id_fkey references storage.buckets (id),
    key text not null collate "C",
    version text not null,
    owner_id text,
    created_at timestamptz not null default now(),
    user_metadata jsonb,
    metadata jsonb
);
create index idx_multipart_uploads_list on storage.s3_multipart_uploads (bucket_id, key, created_at);

create table storage.s3_multipart_uploads_parts (
    id uuid not null default gen_random_uuid() constraint s3_multipart_uploads_parts_pkey primary key,
    upload_id text not null
        constraint s3_multipart_uploads_parts_upload_id_fkey
        references storage.s3_multipart_uploads (id) on delete cascade,
    size bigint not null default 0,
    part_number integer not null,
    bucket_id text not null constraint s3_multipart_uploads_parts_bucket_id_fkey references storage.buckets (id),
    key text not null collate "C",
    etag text not null,
    owner_id text,
    version text not null,
    created_at timestamptz not null default now()
);

create table storage.migrations (
    id integer not null constraint migrations_pkey primary key,
    name varchar(100) not null constraint migrations_name_key unique,
    hash varchar(40) not null,
    executed_at timestamp default current_timestamp
);

-- Helpers that policies are written with -------------------------------------------------------------------------------

create function storage.foldername(name text)
returns text[]
language sql
immutable
as $$
    select parts[1:array_length(parts, 1) - 1]
    from (select string_to_array(foldername.name, '/')) as path (parts)
$$;

create function storage.filename(name text)
returns text
language sql
immutable
as $$
    select parts[array_length(parts, 1)]
    from (select string_to_array(filename.name, '/')) as path (parts)
$$;

create function storage.extension(name text)
returns text
language sql
immutable
as $$
    select reverse(split_part(reverse(storage.filename(extension.name)), '.', 1))
$$;

-- What the Storage server is doing, e.g. storage.object.list.
create function storage.operation()
returns text
language sql
stable
as $$
    select current_setting('storage.operation', true)
$$;

create function storage.allow_only_operation(expected_operation text)
returns boolean
language sql
stable
as $$
    select coalesce(
        nullif(expected_operation, '') is not null
        and regexp_replace(storage.operation(), '^storage\.', '')
            = regexp_replace(expected_operation, '^storage\.', ''),
        false
    )
$$;

create function storage.allow_any_operation(expected_operations text[])
returns boolean
language sql
stable
as $$
    select coalesce(bool_or(storage.allow_only_operation(expected)), false)
    from unnest(expected_operations) as expected
$$;

-- Triggers -------------------------------------------------------------------------------------------------------------

create function storage.enforce_bucket_name_length()
returns trigger
language plpgsql
as $$
begin
    if length(new.name) > 100 then
        raise exception 'bucket name "%" has % characters, at most 100 are allowed', new.name, length(new.name);
    end if;
    return new;
end
$$;

create trigger enforce_bucket_name_length_trigger
    before insert or update of name on storage.buckets
    for each row execute function storage.enforce_bucket_name_length();

create function storage.update_updated_at_column()
returns trigger
language plpgsql
as $$
begin
    new.updated_at := now();
    return new;
end
$$;

create trigger update_objects_updated_at
    before update on storage.objects
    for each row execute function storage.update_updated_at_column();

-- Refuses deletes by SQL, which would leave the file behind, unreachable by any API. It fires once per statement, so even
-- if no row matches. The Storage server turns it off for itself by a setting.
create function storage.protect_delete()
returns trigger
language plpgsql
as $$
begin
    if coalesce(current_setting('storage.allow_delete_query', true), 'false') <> 'true' then
        raise exception 'Direct deletion from storage tables is not allowed. Use the Storage API instead.'
            using errcode = '42501', hint = 'The file would stay behind without its row.';
    end if;
    return null;
end
$$;

create trigger protect_buckets_delete
    before delete on storage.buckets
    for each statement execute function storage.protect_delete();

create trigger protect_objects_delete
    before delete on storage.objects
    for each statement execute function storage.protect_delete();

-- Rights ---------------------------------------------------------------------------------------------------------------

alter table storage.buckets enable row level security;
alter table storage.objects enable row level security;
alter table storage.s3_multipart_uploads enable row level security;
alter table storage.s3_multipart_uploads_parts enable row level security;
alter table storage.migrations enable row level security;

grant all on storage.buckets, storage.objects to postgres with grant option;
grant all on storage.buckets, storage.objects to anon, authenticated, service_role;
-- `postgres` has these rights as a member of service_role.
grant all on storage.s3_multipart_uploads, storage.s3_multipart_uploads_parts to service_role;
grant select on storage.s3_multipart_uploads, storage.s3_multipart_uploads_parts to anon, authenticated;
grant all on all functions in schema storage to postgres, anon, authenticated, service_role;

reset search_path;
reset role;
