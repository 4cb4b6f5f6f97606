-- accountctl: bundle=core
-- Status tokens of deletions that ended long ago: the upkeep of deletions removes them, and finds them by this.

create index deletion_status_tokens_created_at_idx
    on accountctl.deletion_status_tokens (created_at);

comment on table accountctl.deletion_status_tokens is
    'SHA-256 of the opaque tokens that show the state of a request after its account is gone. Kept for 90 days after its end.';
