-- accountctl: bundle=core
-- How often a notification of the inbox could not be judged or stored: a row is given up after so many looks, not by its age, which
-- says only how long no worker ran.

alter table accountctl.apple_inbox
    add column tries integer not null default 0;

comment on column accountctl.apple_inbox.tries is 'How many looks it has waited through that could not judge or store it.';
