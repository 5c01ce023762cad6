-- Why: ADR 0128. Since then the line of a job may end with its terms. A program of before would read it without them.
SELECT 1;
