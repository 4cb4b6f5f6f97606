-- accountctl: bundle=core
-- What ended lately? Asked by jobs watch and jobs stats. Rows come in the order of their time, so that a few pages of
-- ranges answer it and inserts pay next to nothing.

create index job_history_finished on accountctl.job_history using brin (finished_at) with (autosummarize = on);
