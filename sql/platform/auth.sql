-- The `auth` schema: read by database.sql.

create schema auth authorization supabase_admin;
grant all on schema auth to supabase_auth_admin;
grant usage on schema auth to postgres, anon, authenticated, service_role;

-- The tables belong to the Auth server's own role: `postgres` may neither alter nor index them.
set role supabase_auth_admin;
set search_path = auth;

create type auth.aal_level as enum ('aal1', 'aal2', 'aal3');
create type auth.code_challenge_method as enum ('s256', 'plain');
create type auth.factor_status as enum ('unverified', 'verified');
create type auth.factor_type as enum ('totp', 'webauthn', 'phone', 'recovery_code');
create type auth.oauth_authorization_status as enum ('pending', 'approved', 'denied', 'expired');
create type auth.oauth_client_type as enum ('public', 'confidential');
create type auth.oauth_registration_type as enum ('dynamic', 'manual');
create type auth.oauth_response_type as enum ('code');
create type auth.one_time_token_type as enum (
    'confirmation_token',
    'reauthentication_token',
    'recovery_token',
    'email_change_token_new',
    'email_change_token_current',
    'phone_change_token'
);

-- Who is asking --------------------------------------------------------------------------------------------------------
-- PostgREST puts the token's claims into settings of the transaction; outside a request these functions are null.

create function auth.jwt()
returns jsonb
language sql
stable
as $$
    select coalesce(
        nullif(current_setting('request.jwt.claim', true), ''),
        nullif(current_setting('request.jwt.claims', true), '')
    )::jsonb
$$;

create function auth.uid()
returns uuid
language sql
stable
as $$
    select coalesce(
        nullif(current_setting('request.jwt.claim.sub', true), ''),
        nullif(current_setting('request.jwt.claims', true), '')::jsonb ->> 'sub'
    )::uuid
$$;

create function auth.role()
returns text
language sql
stable
as $$
    select coalesce(
        nullif(current_setting('request.jwt.claim.role', true), ''),
        nullif(current_setting('request.jwt.claims', true), '')::jsonb ->> 'role'
    )
$$;

create function auth.email()
returns text
language sql
stable
as $$
    select coalesce(
        nullif(current_setting('request.jwt.claim.email', true), ''),
        nullif(current_setting('request.jwt.claims', true), '')::jsonb ->> 'email'
    )
$$;

-- The account and what cascades from it --------------------------------------------------------------------------------

create table auth.users (
    instance_id uuid,
    id uuid not null constraint users_pkey primary key,
    aud varchar(255),
    role varchar(255),
    email varchar(255),
    encrypted_password varchar(255),
    email_confirmed_at timestamptz,
    invited_at timestamptz,
    confirmation_token varchar(255),
    confirmation_sent_at timestamptz,
    recovery_token varchar(255),
    recovery_sent_at timestamptz,
    email_change_token_new varchar(255),
    email_change varchar(255),
    email_change_sent_at timestamptz,
    last_sign_in_at timestamptz,
    raw_app_meta_data jsonb,
    raw_user_meta_data jsonb,
    is_super_admin boolean,
    created_at timestamptz,
    updated_at timestamptz,
    phone text default null constraint users_phone_key unique,
    phone_confirmed_at timestamptz,
    phone_change text default '',
    phone_change_token varchar(255) default '',
    phone_change_sent_at timestamptz,
    confirmed_at timestamptz generated always as (least(email_confirmed_at, phone_confirmed_at)) stored,
    email_change_token_current varchar(255) default '',
    email_change_confirm_status smallint default 0
        constraint users_email_change_confirm_status_check check (email_change_confirm_status between 0 and 2),
    banned_until timestamptz,
    reauthentication_token varchar(255) default '',
    reauthentication_sent_at timestamptz,
    is_sso_user boolean not null default false,
    deleted_at timestamptz,
    is_anonymous boolean not null default false
);

-- An address is unique among ordinary accounts only; a look-up must repeat the predicate to use the index.
create unique index users_email_partial_key on auth.users (email) where is_sso_user = false;
create index users_instance_id_idx on auth.users (instance_id);
create index users_instance_id_email_idx on auth.users (instance_id, lower(email::text));
create index users_is_anonymous_idx on auth.users (is_anonymous);
create unique index confirmation_token_idx on auth.users (confirmation_token)
    where confirmation_token::text !~ '^[0-9 ]*$';
create unique index recovery_token_idx on auth.users (recovery_token) where recovery_token::text !~ '^[0-9 ]*$';
create unique index reauthentication_token_idx on auth.users (reauthentication_token)
    where reauthentication_token::text !~ '^[0-9 ]*$';
create unique index email_change_token_new_idx on auth.users (email_change_token_new)
    where email_change_token_new::text !~ '^[0-9 ]*$';
create unique index email_change_token_current_idx on auth.users (email_change_token_current)
    where email_change_token_current::text !~ '^[0-9 ]*$';

create table auth.identities (
    provider_id text not null,
    user_id uuid not null constraint identities_user_id_fkey references auth.users (id) on delete cascade,
    identity_data jsonb not null,
    provider text not null,
    last_sign_in_at timestamptz,
    created_at timestamptz,
    updated_at timestamptz,
    email text generated always as (lower(identity_data ->> 'email')) stored,
    id uuid not null default gen_random_uuid() constraint identities_pkey primary key,
    constraint identities_provider_id_provider_unique unique (provider_id, provider)
);
create index identities_email_idx on auth.identities (email text_pattern_ops);
create index identities_user_id_idx on auth.identities (user_id);

create table auth.oauth_clients (
    id uuid not null constraint oauth_clients_pkey primary key,
    client_secret_hash text,
    registration_type auth.oauth_registration_type not null,
    redirect_uris text not null,
    grant_types text not null,
    client_name text,
    client_uri text,
    logo_uri text,
    created_at timestamptz not null default now(),
    updated_at timestamptz not null default now(),
    deleted_at timestamptz,
    client_type auth.oauth_client_type not null default 'confidential',
    token_endpoint_auth_method text not null
);
create index oauth_clients_deleted_at_idx on auth.oauth_clients (deleted_at);

create table auth.sessions (
    id uuid not null constraint sessions_pkey primary key,
    user_id uuid not null constraint sessions_user_id_fkey references auth.users (id) on delete cascade,
    created_at timestamptz,
    updated_at timestamptz,
    factor_id uuid,
    aal auth.aal_level,
    not_after timestamptz,
    refreshed_at timestamp,
    user_agent text,
    ip inet,
    tag text,
    oauth_client_id uuid
        constraint sessions_oauth_client_id_fkey references auth.oauth_clients (id) on delete cascade,
    refresh_token_hmac_key text,
    refresh_token_counter bigint,
    scopes text constraint sessions_scopes_length check (char_length(scopes) <= 4096)
);
create index sessions_user_id_idx on auth.sessions (user_id);
create index user_id_created_at_idx on auth.sessions (user_id, created_at);
create index sessions_not_after_idx on auth.sessions (not_after desc);
create index sessions_oauth_client_id_idx on auth.sessions (oauth_client_id);

-- user_id is a text without a foreign key: these rows are deleted with their session, but very old ones have none.
create table auth.refresh_tokens (
    instance_id uuid,
    id bigserial constraint refresh_tokens_pkey primary key,
    token varchar(255) constraint refresh_tokens_token_unique unique,
    user_id varchar(255),
    revoked boolean,
    created_at timestamptz,
    updated_at timestamptz,
    parent varchar(255),
    session_id uuid constraint refresh_tokens_session_id_fkey references auth.sessions (id) on delete cascade
);
create index refresh_tokens_instance_id_idx on auth.refresh_tokens (instance_id);
create index refresh_tokens_instance_id_user_id_idx on auth.refresh_tokens (instance_id, user_id);
create index refresh_tokens_parent_idx on auth.refresh_tokens (parent);
create index refresh_tokens_session_id_revoked_idx on auth.refresh_tokens (session_id, revoked);
create index refresh_tokens_updated_at_idx on auth.refresh_tokens (updated_at desc);

create table auth.mfa_factors (
    id uuid not null constraint mfa_factors_pkey primary key,
    user_id uuid not null constraint mfa_factors_user_id_fkey references auth.users (id) on delete cascade,
    friendly_name text,
    factor_type auth.factor_type not null,
    status auth.factor_status not null,
    created_at timestamptz not null,
    updated_at timestamptz not null,
    secret text,
    phone text,
    last_challenged_at timestamptz constraint mfa_factors_last_challenged_at_key unique,
    web_authn_credential jsonb,
    web_authn_aaguid uuid,
    last_webauthn_challenge_data jsonb
);
create index factor_id_created_at_idx on auth.mfa_factors (user_id, created_at);
create index mfa_factors_user_id_idx on auth.mfa_factors (user_id);
create unique index mfa_factors_user_friendly_name_unique on auth.mfa_factors (friendly_name, user_id)
    where trim(both from friendly_name) <> '';
create unique index unique_phone_factor_per_user on auth.mfa_factors (user_id, phone);

create table auth.mfa_challenges (
    id uuid not null constraint mfa_challenges_pkey primary key,
    factor_id uuid not null
        constraint mfa_challenges_auth_factor_id_fkey references auth.mfa_factors (id) on delete cascade,
    created_at timestamptz not null,
    verified_at timestamptz,
    ip_address inet not null,
    otp_code text,
    web_authn_session_data jsonb
);
create index mfa_challenge_created_at_idx on auth.mfa_challenges (created_at desc);

-- Codes for people who have lost a second factor; a set is a factor itself, and is deleted with it or with the account.
create table auth.mfa_recovery_code_sets (
    id uuid not null constraint mfa_recovery_code_sets_pkey primary key,
    user_id uuid not null
        constraint mfa_recovery_code_sets_user_id_key unique
        constraint mfa_recovery_code_sets_user_id_fkey references auth.users (id) on delete cascade,
    mfa_factor_id uuid not null
        constraint mfa_recovery_code_sets_mfa_factor_id_key unique
        constraint mfa_recovery_code_sets_mfa_factor_id_fkey references auth.mfa_factors (id) on delete cascade,
    failed_verification_count integer not null default 0
        constraint mfa_recovery_code_sets_failed_verification_count_check check (failed_verification_count >= 0),
    verification_locked_until timestamptz,
    created_at timestamptz not null default now(),
    updated_at timestamptz not null default now()
);

create table auth.mfa_recovery_codes (
    id uuid not null constraint mfa_recovery_codes_pkey primary key,
    mfa_recovery_code_set_id uuid not null
        constraint mfa_recovery_codes_mfa_recovery_code_set_id_fkey
        references auth.mfa_recovery_code_sets (id) on delete cascade,
    code_hash text not null,
    consumed_at timestamptz,
    created_at timestamptz not null default now()
);
create index mfa_recovery_codes_set_id_idx on auth.mfa_recovery_codes (mfa_recovery_code_set_id);

create table auth.mfa_amr_claims (
    session_id uuid not null
        constraint mfa_amr_claims_session_id_fkey references auth.sessions (id) on delete cascade,
    created_at timestamptz not null,
    updated_at timestamptz not null,
    authentication_method text not null,
    id uuid not null constraint amr_id_pk primary key,
    constraint mfa_amr_claims_session_id_authentication_method_pkey unique (session_id, authentication_method)
);

create table auth.one_time_tokens (
    id uuid not null constraint one_time_tokens_pkey primary key,
    user_id uuid not null constraint one_time_tokens_user_id_fkey references auth.users (id) on delete cascade,
    token_type auth.one_time_token_type not null,
    token_hash text not null constraint one_time_tokens_token_hash_check check (char_length(token_hash) > 0),
    relates_to text not null,
    created_at timestamp not null default now(),
    updated_at timestamp not null default now(),
    expires_at timestamptz
);
create index one_time_tokens_relates_to_hash_idx on auth.one_time_tokens using hash (relates_to);
create index one_time_tokens_token_hash_hash_idx on auth.one_time_tokens using hash (token_hash);
create unique index one_time_tokens_user_id_token_type_key on auth.one_time_tokens (user_id, token_type);

create table auth.webauthn_credentials (
    id uuid not null default gen_random_uuid() constraint webauthn_credentials_pkey primary key,
    user_id uuid not null constraint webauthn_credentials_user_id_fkey references auth.users (id) on delete cascade,
    credential_id bytea not null,
    public_key bytea not null,
    attestation_type text not null default '',
    aaguid uuid,
    sign_count bigint not null default 0,
    transports jsonb not null default '[]',
    backup_eligible boolean not null default false,
    backed_up boolean not null default false,
    friendly_name text not null default '',
    created_at timestamptz not null default now(),
    updated_at timestamptz not null default now(),
    last_used_at timestamptz
);
create unique index webauthn_credentials_credential_id_key on auth.webauthn_credentials (credential_id);
create index webauthn_credentials_user_id_idx on auth.webauthn_credentials (user_id);

create table auth.webauthn_challenges (
    id uuid not null default gen_random_uuid() constraint webauthn_challenges_pkey primary key,
    user_id uuid constraint webauthn_challenges_user_id_fkey references auth.users (id) on delete cascade,
    challenge_type text not null
        constraint webauthn_challenges_challenge_type_check
        check (challenge_type in ('signup', 'registration', 'authentication')),
    session_data jsonb not null,
    created_at timestamptz not null default now(),
    expires_at timestamptz not null
);
create index webauthn_challenges_expires_at_idx on auth.webauthn_challenges (expires_at);
create index webauthn_challenges_user_id_idx on auth.webauthn_challenges (user_id);

-- The only column that cascades from users and has no index.
create table auth.oauth_authorizations (
    id uuid not null constraint oauth_authorizations_pkey primary key,
    authorization_id text not null constraint oauth_authorizations_authorization_id_key unique,
    client_id uuid not null
        constraint oauth_authorizations_client_id_fkey references auth.oauth_clients (id) on delete cascade,
    user_id uuid constraint oauth_authorizations_user_id_fkey references auth.users (id) on delete cascade,
    redirect_uri text not null,
    scope text not null,
    state text,
    resource text,
    code_challenge text,
    code_challenge_method auth.code_challenge_method,
    response_type auth.oauth_response_type not null default 'code',
    status auth.oauth_authorization_status not null default 'pending',
    authorization_code text constraint oauth_authorizations_authorization_code_key unique,
    created_at timestamptz not null default now(),
    expires_at timestamptz not null default now() + interval '3 minutes',
    approved_at timestamptz,
    nonce text,
    constraint oauth_authorizations_expires_at_future check (expires_at > created_at)
);
create index oauth_auth_pending_exp_idx on auth.oauth_authorizations (expires_at) where status = 'pending';

create table auth.oauth_consents (
    id uuid not null constraint oauth_consents_pkey primary key,
    user_id uuid not null constraint oauth_consents_user_id_fkey references auth.users (id) on delete cascade,
    client_id uuid not null
        constraint oauth_consents_client_id_fkey references auth.oauth_clients (id) on delete cascade,
    scopes text not null,
    granted_at timestamptz not null default now(),
    revoked_at timestamptz,
    constraint oauth_consents_user_client_unique unique (user_id, client_id)
);
create index oauth_consents_active_client_idx on auth.oauth_consents (client_id) where revoked_at is null;
create index oauth_consents_active_user_client_idx on auth.oauth_consents (user_id, client_id)
    where revoked_at is null;
create index oauth_consents_user_order_idx on auth.oauth_consents (user_id, granted_at desc);

-- What no cascade reaches ----------------------------------------------------------------------------------------------

-- user_id has no foreign key, and provider tokens are in plain text: a deletion must delete these rows itself.
create table auth.flow_state (
    id uuid not null constraint flow_state_pkey primary key,
    user_id uuid,
    auth_code text,
    code_challenge_method auth.code_challenge_method,
    code_challenge text,
    provider_type text not null,
    provider_access_token text,
    provider_refresh_token text,
    created_at timestamptz,
    updated_at timestamptz,
    authentication_method text not null,
    auth_code_issued_at timestamptz,
    invite_token text,
    referrer text,
    oauth_client_state_id uuid,
    linking_target_id uuid,
    email_optional boolean not null default false
);
create index flow_state_created_at_idx on auth.flow_state (created_at desc);
create index idx_auth_code on auth.flow_state (auth_code);
create index idx_user_id_auth_method on auth.flow_state (user_id, authentication_method);

-- payload is json, not jsonb, and names actors by id, address and full name.
create table auth.audit_log_entries (
    instance_id uuid,
    id uuid not null constraint audit_log_entries_pkey primary key,
    payload json,
    created_at timestamptz,
    ip_address varchar(64) not null default ''
);
create index audit_logs_instance_id_idx on auth.audit_log_entries (instance_id);

create table auth.sso_providers (
    id uuid not null constraint sso_providers_pkey primary key,
    resource_id text,
    created_at timestamptz,
    updated_at timestamptz,
    disabled boolean
);
create unique index sso_providers_resource_id_idx on auth.sso_providers (lower(resource_id));
create index sso_providers_resource_id_pattern_idx on auth.sso_providers (resource_id text_pattern_ops);

-- What an identity provider wrote about its people. The key alone would keep an account's row, with the name in `resource`.
create table auth.scim_users (
    id uuid not null constraint scim_users_pkey primary key,
    sso_provider_id uuid not null
        constraint scim_users_sso_provider_id_fkey references auth.sso_providers (id) on delete cascade,
    user_id uuid constraint scim_users_user_id_fkey references auth.users (id) on delete set null,
    resource jsonb not null,
    user_name text not null generated always as (lower(resource ->> 'userName')) stored,
    external_id text generated always as (resource ->> 'externalId') stored,
    active boolean not null generated always as (coalesce((resource ->> 'active')::boolean, true)) stored,
    created_at timestamptz not null default now(),
    updated_at timestamptz not null default now(),
    deleted_at timestamptz
);
create index scim_users_user_id_idx on auth.scim_users (user_id);
create index scim_users_sso_provider_id_idx on auth.scim_users (sso_provider_id);
create unique index scim_users_user_name_key on auth.scim_users (sso_provider_id, user_name) where deleted_at is null;
create unique index scim_users_external_id_key on auth.scim_users (sso_provider_id, external_id)
    where external_id is not null and deleted_at is null;

create table auth.saml_relay_states (
    id uuid not null constraint saml_relay_states_pkey primary key,
    sso_provider_id uuid not null
        constraint saml_relay_states_sso_provider_id_fkey references auth.sso_providers (id) on delete cascade,
    request_id text not null constraint "request_id not empty" check (char_length(request_id) > 0),
    for_email text,
    redirect_to text,
    created_at timestamptz,
    updated_at timestamptz,
    flow_state_id uuid
        constraint saml_relay_states_flow_state_id_fkey references auth.flow_state (id) on delete cascade
);
create index saml_relay_states_created_at_idx on auth.saml_relay_states (created_at desc);
create index saml_relay_states_for_email_idx on auth.saml_relay_states (for_email);
create index saml_relay_states_sso_provider_id_idx on auth.saml_relay_states (sso_provider_id);

create table auth.schema_migrations (
    version varchar(255) not null constraint schema_migrations_pkey primary key
);

-- Rights ---------------------------------------------------------------------------------------------------------------

-- On, without any policy: to a role without BYPASSRLS, each of these tables looks empty. It is off for tables from 2025 on.
alter table auth.users enable row level security;
alter table auth.identities enable row level security;
alter table auth.sessions enable row level security;
alter table auth.refresh_tokens enable row level security;
alter table auth.mfa_factors enable row level security;
alter table auth.mfa_challenges enable row level security;
alter table auth.mfa_amr_claims enable row level security;
alter table auth.one_time_tokens enable row level security;
alter table auth.flow_state enable row level security;
alter table auth.audit_log_entries enable row level security;
alter table auth.sso_providers enable row level security;
alter table auth.saml_relay_states enable row level security;
alter table auth.schema_migrations enable row level security;

grant all on all tables in schema auth to postgres;
revoke insert, update, delete, truncate, references, trigger on auth.schema_migrations from postgres;
grant all on all sequences in schema auth to postgres;
grant all on all functions in schema auth to postgres;
-- Rights that `postgres` can pass on: reading, and on the older tables only.
grant select on
    auth.users,
    auth.identities,
    auth.sessions,
    auth.refresh_tokens,
    auth.mfa_factors,
    auth.mfa_challenges,
    auth.mfa_amr_claims,
    auth.one_time_tokens,
    auth.flow_state,
    auth.audit_log_entries,
    auth.sso_providers,
    auth.saml_relay_states,
    auth.schema_migrations
to postgres with grant option;

reset search_path;
reset role;
