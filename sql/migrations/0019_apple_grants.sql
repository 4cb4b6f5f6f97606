-- accountctl: bundle=core
-- What has to be remembered of grants at Apple beyond the credentials that are held, so that none is ever taken for "not held".

alter table accountctl.deletion_requests
    add column apple_revoked_at timestamptz;

comment on column accountctl.deletion_requests.apple_revoked_at is
    'When Apple was last asked with success to revoke. It ends what was lost or unknown of the person before, not what came later.';

create table accountctl.lost_grants (
    user_id uuid not null references auth.users on delete cascade,
    client_id text not null,
    lost_at timestamptz not null default now(),
    primary key (user_id, client_id),
    constraint lost_grants_client_id check (client_id ~ '^[A-Za-z0-9][A-Za-z0-9._-]{0,254}$')
);

comment on table accountctl.lost_grants is
    'Grants whose credential was given up with its sealing key: they live on at Apple, and an erasure has to say so.';
comment on column accountctl.lost_grants.lost_at is 'When it was given up. A credential obtained and revoked since ends it, too.';

revoke all on accountctl.lost_grants from public;
