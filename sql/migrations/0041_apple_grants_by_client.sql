-- accountctl: bundle=core
-- Revoking ends the authorisation of one app and its group, not of every app that the person uses: the moment is kept for each client
-- id. And a person who signs up anew is recognised before a late revocation ends what the new account lives on.

alter table accountctl.deletion_requests
    add column apple_revoked jsonb not null default '{}';

comment on column accountctl.deletion_requests.apple_revoked_at is
    'When Apple was last asked with success to revoke, under whatever client id.';
comment on column accountctl.deletion_requests.apple_revoked is
    'The same for each client id. It ends what was lost or unknown of the person before under that client id, not what came later.';
comment on column accountctl.lost_grants.lost_at is
    'When it was given up. A credential obtained and revoked since ends it, too. Infinity: of another Apple Account of the person''s.';

alter table accountctl.pending_revocations
    add column sealed_subject text;

comment on column accountctl.pending_revocations.sealed_subject is
    'Whom the token speaks for, sealed like it: it is not revoked once the person has an account again. Null where it was not kept.';
