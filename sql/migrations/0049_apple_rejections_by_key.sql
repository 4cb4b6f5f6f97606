-- accountctl: bundle=core
-- While a key is changed two are in use, and Apple may reject both: each has a row of its own, or the workers of the one would take the
-- rejection of the other for a success, and call again.

alter table accountctl.apple_rejections
    drop constraint apple_rejections_pkey,
    add primary key (client_id, team_id, key_id);

comment on table accountctl.apple_rejections is
    'Client ids that Apple rejects now, by the key they were asked with: no worker with that key calls for them until one of them has tested the client id again.';
