-- accountctl: bundle=core
-- The requests of an account, open and ended: what its person asks, what a code asks and what a receipt forgets read them together,
-- and neither of two indexes, each on one half, served that.

create index deletion_requests_account_idx
    on accountctl.deletion_requests (user_id)
    where user_id is not null;

drop index accountctl.deletion_requests_user_id_idx;
