module segq.example/segq

go 1.19
