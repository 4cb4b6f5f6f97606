-- accountctl: bundle=core
-- When workers last waited until all was on disk: a row of its own, which stood among the settings.

create table accountctl.deletion_flushes (
    only_row boolean primary key default true,
    flushed_at timestamptz not null,
    constraint deletion_flushes_only_row check (only_row)
);

comment on table accountctl.deletion_flushes is
    'Written before anybody outside is asked to forget an account: the commit waits until all before it is on disk.';
comment on column accountctl.deletion_flushes.flushed_at is 'When that was last begun.';

delete from accountctl.settings where name = 'flushed_at';
