-- accountctl: bundle=core
-- Apple tells of the new team's subs as soon as a transfer is accepted, and the identities have the old ones until it is applied: its
-- events are the account's that will have the sub.

create index apple_transfers_new_sub_idx
    on accountctl.apple_transfers (client_id, new_sub)
    where new_sub is not null;
