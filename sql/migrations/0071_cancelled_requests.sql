-- accountctl: bundle=core
-- The upkeep looks each minute for requests that were cancelled long ago, and read all there ever were for that: those that ended
-- otherwise are kept for good.

create index deletion_requests_cancelled_idx
    on accountctl.deletion_requests (finished_at)
    where state = 'cancelled';
